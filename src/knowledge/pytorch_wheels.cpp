// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "knowledge/pytorch_wheels.h"

#include "knowledge/document.h"
#include "knowledge/json_fields.h"

namespace ncclprobe::knowledge {
namespace {

bool same_minor(const VersionNumber& one, const VersionNumber& other) {
  return one.major() == other.major() && one.minor() == other.minor();
}

struct PypiWheels {
  VersionNumber torch;
  std::string x86_64, aarch64; // tags
};
NCCLPROBE_FIELDS(PypiWheels, torch, x86_64, aarch64)

} // namespace

NCCLPROBE_PARTLY_LENIENT_FIELDS(PytorchWheel, (torch, cuda_tag, cuda, cubins, ptx, cpu, sources),
                                (nccl, status, note))

const std::vector<PytorchWheel>& pytorch_wheels() {
  static const auto all = rows<PytorchWheel>("pytorch", "wheels");
  return all;
}

const PytorchWheel* pytorch_wheel(const VersionNumber& torch, std::string_view cuda_tag,
                                  CpuKind cpu) {
  for (const PytorchWheel& one : pytorch_wheels())
    if (same_minor(one.torch, torch) && one.cuda_tag == cuda_tag && one.cpu == cpu)
      return &one;
  return nullptr;
}

std::optional<std::string> pypi_tag(const VersionNumber& torch, CpuKind cpu) {
  for (const PypiWheels& one : rows<PypiWheels>("pytorch", "pypi_wheels"))
    if (same_minor(one.torch, torch))
      return cpu == CpuKind::aarch64 ? one.aarch64 : one.x86_64;
  return std::nullopt;
}

VersionNumber last_arm_pypi_without_cuda() {
  VersionNumber last;
  for (const PypiWheels& one : rows<PypiWheels>("pytorch", "pypi_wheels"))
    if (one.aarch64 == "cpu")
      last = one.torch;
  return last;
}

} // namespace ncclprobe::knowledge

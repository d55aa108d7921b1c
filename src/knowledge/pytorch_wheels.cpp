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

} // namespace

const std::vector<PytorchWheel>& pytorch_wheels() {
  static const std::vector<PytorchWheel> all = [] {
    std::vector<PytorchWheel> made;
    for (const auto& one : section("pytorch", "wheels")) {
      PytorchWheel wheel;
      wheel.torch = value_or_throw(parse_version(text_of(one, "torch")));
      wheel.cuda_tag = text_of(one, "cuda_tag");
      wheel.cuda = value_or_throw(parse_version(text_of(one, "cuda")));
      wheel.cubins = targets_of(one, "cubin_archs");
      wheel.ptx = targets_of(one, "ptx_archs");
      wheel.nccl = text_of(one, "nccl");
      wheel.status = text_of(one, "status");
      wheel.cpu =
          text_of(one, "platform").ends_with("aarch64") ? CpuKind::aarch64 : CpuKind::x86_64;
      wheel.note = text_of(one, "note");
      wheel.sources = texts_of(one, "sources");
      made.push_back(std::move(wheel));
    }
    return made;
  }();
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
  for (const auto& one : section("pytorch", "pypi_wheels"))
    if (same_minor(value_or_throw(parse_version(text_of(one, "torch"))), torch))
      return text_of(one, cpu == CpuKind::aarch64 ? "aarch64" : "x86_64");
  return std::nullopt;
}

VersionNumber last_arm_pypi_without_cuda() {
  VersionNumber last;
  for (const auto& one : section("pytorch", "pypi_wheels"))
    if (text_of(one, "aarch64") == "cpu")
      last = value_or_throw(parse_version(text_of(one, "torch")));
  return last;
}

} // namespace ncclprobe::knowledge

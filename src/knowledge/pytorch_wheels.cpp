// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "knowledge/pytorch_wheels.h"

#include "knowledge/document.h"
#include "knowledge/json_fields.h"

namespace ncclprobe::knowledge {

const std::vector<PytorchWheel>& pytorch_wheels() {
  static const std::vector<PytorchWheel> all = [] {
    std::vector<PytorchWheel> made;
    for (const auto& one : section("pytorch", "wheels")) {
      PytorchWheel wheel;
      wheel.torch = base::value_or_throw(parse_version(text_of(one, "torch")));
      wheel.cuda_tag = text_of(one, "cuda_tag");
      wheel.cuda = base::value_or_throw(parse_version(text_of(one, "cuda")));
      wheel.cubins = targets_of(one, "cubin_archs");
      wheel.ptx = targets_of(one, "ptx_archs");
      wheel.nccl = text_of(one, "nccl");
      wheel.status = text_of(one, "status");
      wheel.platform = text_of(one, "platform");
      wheel.note = text_of(one, "note");
      wheel.sources = texts_of(one, "sources");
      made.push_back(std::move(wheel));
    }
    return made;
  }();
  return all;
}

const PytorchWheel* pytorch_wheel(std::string_view torch, std::string_view cuda_tag) {
  auto version = parse_version(torch);
  for (const PytorchWheel& one : pytorch_wheels())
    if (version && one.torch == *version && one.cuda_tag == cuda_tag)
      return &one;
  return nullptr;
}

} // namespace ncclprobe::knowledge

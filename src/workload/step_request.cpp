// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/step_request.h"

#include "base/units.h"
#include "model/parse_enum.h"
#include "workload/models/ddp_buckets.h"

#include <cctype>

namespace ncclprobe::workload {
namespace {

constexpr std::string_view k_pinned = "pinned";
constexpr std::string_view k_pageable = "pageable";
constexpr std::uint64_t k_copied_element_bytes = 4; // it is checked as f32

// "25MiB", "1536B"
std::string bytes_word(std::uint64_t bytes) {
  std::string text = base::format_bytes(bytes);
  bool whole = std::isdigit(static_cast<unsigned char>(text.back())) == 0;
  return text + (whole ? "iB" : "B");
}

} // namespace

bool has_part(StepPattern pattern, StepPattern part) {
  using enum StepPattern;
  return pattern == part || (part == tp && (pattern == ddp_tp || pattern == fsdp_tp)) ||
         (part == ddp && (pattern == ddp_tp || pattern == moe)) ||
         (part == fsdp && pattern == fsdp_tp);
}

model::DataType data_type(StepType type) {
  switch (type) {
  case StepType::bf16:
    return model::DataType::bf16;
  case StepType::f16:
    return model::DataType::f16;
  default:
    return model::DataType::f32;
  }
}

std::string input_copy_text(const InputCopy& copy) {
  if (copy.bytes == 0)
    return "none";
  return fmt::format("{}:{}", copy.from == model::Memory::pinned_host ? k_pinned : k_pageable,
                     bytes_word(copy.bytes));
}

base::Result<InputCopy> parse_input_copy(const std::string& text) {
  if (text == "none")
    return InputCopy{};
  std::size_t colon = text.find(':');
  std::string from = text.substr(0, colon);
  if (colon == std::string::npos || (from != k_pinned && from != k_pageable))
    return base::fail(base::Error{base::Errc::invalid_argument,
                                  fmt::format("'{}' is not an input copy", text),
                                  "none, pinned:SIZE or pageable:SIZE, such as pinned:64M"});
  NCCLPROBE_TRY_ASSIGN(const auto sizes, base::parse_sizes(text.substr(colon + 1)));
  if (sizes.size() != 1 || sizes[0] == 0 || sizes[0] % k_copied_element_bytes != 0)
    return base::fail(base::Errc::invalid_argument, "'{}': a copy must be one multiple of {} bytes",
                      text, k_copied_element_bytes);
  return InputCopy{sizes[0],
                   from == k_pinned ? model::Memory::pinned_host : model::Memory::pageable_host};
}

std::vector<std::string> option_words(const StepRequest& request) {
  std::vector<std::string> words;
  auto add = [&](bool wanted, std::string word) {
    if (wanted)
      words.push_back(std::move(word));
  };
  add(request.type == StepType::tf32, "tf32");
  add(request.scaling == Scaling::strong, "strong");
  if (has_part(request.pattern, StepPattern::ddp)) {
    add(true, "bucket=" + bytes_word(request.bucket_bytes.value_or(k_ddp_bucket_bytes)));
    add(!request.bucket_bytes, "first=" + bytes_word(k_ddp_first_bucket_bytes));
    add(request.bucket_view, "view");
    add(request.compression != Compression::none,
        fmt::format("compress={}", model::to_string(request.compression)));
  }
  if (has_part(request.pattern, StepPattern::fsdp)) {
    add(true, fmt::format("prefetch={}", request.prefetch));
    add(!request.reshard, "no_reshard");
  }
  if (has_part(request.pattern, StepPattern::tp)) {
    add(request.tensor > 0, fmt::format("tensor={}", request.tensor));
    add(request.sequence_parallel, "sequence_parallel");
  }
  if (request.pattern == StepPattern::pipeline) {
    add(true, std::string(model::to_string(request.order)));
    add(request.micro_batches > 0, fmt::format("micro_batches={}", request.micro_batches));
  }
  add(request.accumulate > 1, fmt::format("accumulate={}", request.accumulate));
  add(request.compute.kind == StepCompute::Kind::none, "compute=none");
  add(request.compute.kind == StepCompute::Kind::calibrated,
      fmt::format("calibrated={}us", static_cast<double>(request.compute.backward_ns) / 1000));
  add(!request.optimizer, "no_optimizer");
  add(request.found_inf, "found_inf");
  add(request.priority != 0, fmt::format("priority={}", request.priority));
  add(request.launch == Launch::graph, "graph");
  add(request.memory == model::Memory::registered, "registered");
  add(request.input_copy.bytes > 0, "copy=" + input_copy_text(request.input_copy));
  return words;
}

} // namespace ncclprobe::workload

// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "model/step_label.h"

#include "base/units.h"

#include <cctype>

namespace ncclprobe::model {
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

DataType data_type(StepType type) {
  switch (type) {
  case StepType::bf16:
    return DataType::bf16;
  case StepType::f16:
    return DataType::f16;
  default:
    return DataType::f32;
  }
}

std::string input_copy_text(const InputCopy& copy) {
  if (copy.bytes == 0)
    return "none";
  return fmt::format("{}:{}", copy.from == Memory::pinned_host ? k_pinned : k_pageable,
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
  return InputCopy{sizes[0], from == k_pinned ? Memory::pinned_host : Memory::pageable_host};
}

StepOptions StepOptions::of_pattern() const {
  StepOptions options = *this;
  auto only_of = [&](StepPattern part, auto... members) {
    if (!has_part(pattern, part))
      ((options.*members = StepOptions{}.*members), ...);
  };
  only_of(StepPattern::ddp, &StepOptions::bucket_bytes, &StepOptions::bucket_view,
          &StepOptions::compression);
  only_of(StepPattern::fsdp, &StepOptions::reshard, &StepOptions::prefetch);
  only_of(StepPattern::tp, &StepOptions::tensor, &StepOptions::sequence_parallel);
  only_of(StepPattern::pipeline, &StepOptions::micro_batches, &StepOptions::order);
  return options;
}

std::vector<std::string> StepOptions::words() const {
  std::vector<std::string> words;
  auto add = [&](bool wanted, std::string word) {
    if (wanted)
      words.push_back(std::move(word));
  };
  if (pattern == StepPattern::replay)
    return words;
  add(type == StepType::tf32, "tf32");
  add(scaling == Scaling::strong, "strong");
  if (has_part(pattern, StepPattern::ddp)) {
    add(true, "bucket=" + bytes_word(bucket_bytes.value_or(k_ddp_bucket_bytes)));
    add(!bucket_bytes, "first=" + bytes_word(k_ddp_first_bucket_bytes));
    add(bucket_view, "view");
    add(compression != Compression::none, fmt::format("compress={}", to_string(compression)));
  }
  if (has_part(pattern, StepPattern::fsdp)) {
    add(true, fmt::format("prefetch={}", prefetch));
    add(!reshard, "no_reshard");
  }
  if (has_part(pattern, StepPattern::tp)) {
    add(tensor > 0, fmt::format("tensor={}", tensor));
    add(sequence_parallel, "sequence_parallel");
  }
  if (pattern == StepPattern::pipeline) {
    add(true, std::string(to_string(order)));
    add(micro_batches > 0, fmt::format("micro_batches={}", micro_batches));
  }
  add(accumulate > 1, fmt::format("accumulate={}", accumulate));
  add(compute.kind == StepCompute::Kind::none, "compute=none");
  add(compute.kind == StepCompute::Kind::calibrated,
      fmt::format("calibrated={}us", static_cast<double>(compute.backward_ns) / 1000));
  add(!optimizer, "no_optimizer");
  add(found_inf, "found_inf");
  add(priority != 0, fmt::format("priority={}", priority));
  add(launch == Launch::graph, "graph");
  add(memory == Memory::registered, "registered");
  add(input_copy.bytes > 0, "copy=" + input_copy_text(input_copy));
  return words;
}

bool StepLabel::communicates() const {
  return ranks.size() > 1 && (parts == StepParts::all || parts == StepParts::communication);
}

} // namespace ncclprobe::model

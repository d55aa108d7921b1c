// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/step_reader.h"

#include "base/units.h"
#include "model/parse_enum.h"
#include "workload/tensor_parallel.h"

#include <charconv>

namespace ncclprobe::workload {
namespace {

using base::Errc;
using base::fail;
using base::Result;

template <typename T>
Result<void> read_whole_number(std::string_view text, T& into) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  if (error != std::errc{} || end != text.data() + text.size())
    return fail(Errc::unsupported, "'{}' is not a number", text);
  return {};
}

template <typename T>
Result<void> read_name(std::string_view text, const char* what, T& into) {
  NCCLPROBE_TRY_ASSIGN(into, model::parse_enum<T>(text, what));
  return {};
}

// The reverse of option_words().
Result<void> read_word(std::string_view word, StepRequest& into) {
  const std::size_t equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  const std::string_view value =
      equals == std::string_view::npos ? std::string_view{} : word.substr(equals + 1);
  if (name == "tf32")
    into.type = StepType::tf32;
  else if (name == "strong")
    into.scaling = Scaling::strong;
  else if (name == "bucket") {
    NCCLPROBE_TRY_ASSIGN(into.bucket_bytes, base::parse_bytes(value));
  } else if (name == "first")
    into.bucket_bytes.reset(); // stands behind "bucket"
  else if (name == "view")
    into.bucket_view = true;
  else if (name == "compress")
    return read_name(value, "compression", into.compression);
  else if (name == "prefetch")
    return read_whole_number(value, into.prefetch);
  else if (name == "no_reshard")
    into.reshard = false;
  else if (name == "tensor")
    return read_whole_number(value, into.tensor);
  else if (name == "sequence_parallel")
    into.sequence_parallel = true;
  else if (name == "1f1b" || name == "gpipe")
    return read_name(name, "order of a pipeline", into.order);
  else if (name == "micro_batches")
    return read_whole_number(value, into.micro_batches);
  else if (name == "accumulate")
    return read_whole_number(value, into.accumulate);
  else if (name == "compute" && value == "none")
    into.compute.kind = StepCompute::Kind::none;
  else if (name == "calibrated") {
    into.compute.kind = StepCompute::Kind::calibrated;
    NCCLPROBE_TRY_ASSIGN(into.compute.backward_ns, base::parse_duration_ns(value));
  } else if (name == "no_optimizer")
    into.optimizer = false;
  else if (name == "found_inf")
    into.found_inf = true;
  else if (name == "priority")
    return read_whole_number(value, into.priority);
  else if (name == "graph")
    into.launch = Launch::graph;
  else if (name == "registered")
    into.memory = model::Memory::registered;
  else if (name == "copy") {
    NCCLPROBE_TRY_ASSIGN(into.input_copy, parse_input_copy(std::string(value)));
  } else
    return fail(Errc::unsupported, "this version does not know what '{}' does to a step", word);
  return {};
}

} // namespace

Result<StepRequest> request_of(const StepLabel& label, model::DataType type, ModelSpec model) {
  StepRequest request;
  NCCLPROBE_TRY(read_name(label.pattern, "workload", request.pattern));
  request.model = std::move(model);
  request.type = type == model::DataType::bf16  ? StepType::bf16
                 : type == model::DataType::f16 ? StepType::f16
                                                : StepType::f32;
  for (const std::string& word : label.options)
    NCCLPROBE_TRY(read_word(word, request));
  request.batch = label.batch;
  if (request.scaling == Scaling::strong) {
    NCCLPROBE_TRY_ASSIGN(const RankGrid grid, make_rank_grid(request, label.ranks));
    request.batch *= static_cast<std::uint64_t>(grid.replicas());
  }
  return request;
}

} // namespace ncclprobe::workload

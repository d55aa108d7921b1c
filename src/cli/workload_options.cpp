// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/workload_options.h"

#include "base/units.h"
#include "cli/common_options.h"
#include "cli/option_values.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <tuple>

namespace ncclprobe::cli {
namespace {

using base::Errc;
using base::fail;
using base::Result;
using workload::StepCompute;

constexpr int k_most = 1'000'000;
constexpr std::string_view k_calibrated = "calibrated:";

template <typename T>
std::string word(T value) {
  if constexpr (std::is_enum_v<T>)
    return std::string(model::to_string(value));
  else
    return fmt::format("{}", value);
}

template <typename T>
std::string list(const std::vector<T>& values) {
  std::vector<std::string> words;
  for (T value : values)
    words.push_back(word(value));
  return fmt::format("{}", fmt::join(words, ","));
}

// PyTorch's users say fp32 where we say f32.
std::string without_p(std::string names) {
  for (std::size_t at = names.find("fp"); at != std::string::npos; at = names.find("fp"))
    names.erase(at + 1, 1);
  return names;
}

template <typename T>
WorkloadOption one_name(const char* name, const char* value, const char* help,
                        std::optional<T> WorkloadOptions::*member, const char* what) {
  return {name, value, help,
          [=](WorkloadOptions& into, const std::string& text) -> Result<void> {
            NCCLPROBE_TRY_ASSIGN(into.*member, model::parse_enum<T>(text, what));
            return {};
          },
          [=](const WorkloadOptions& options) {
            return options.*member ? word(*(options.*member)) : std::string();
          }};
}

template <typename T>
WorkloadOption names(const char* name, const char* help,
                     std::optional<std::vector<T>> WorkloadOptions::*member, const char* what) {
  return {name, "NAME,...", help,
          [=](WorkloadOptions& into, const std::string& text) {
            return parse_names(without_p(text), what, into.*member);
          },
          [=](const WorkloadOptions& options) {
            return options.*member ? list(*(options.*member)) : std::string();
          }};
}

template <typename T>
WorkloadOption numbers(const char* name, const char* help, T least,
                       std::optional<std::vector<T>> WorkloadOptions::*member) {
  return {name, "N,...", help,
          [=](WorkloadOptions& into, const std::string& text) {
            return parse_numbers<T>(text, least, k_most, into.*member);
          },
          [=](const WorkloadOptions& options) {
            return options.*member ? list(*(options.*member)) : std::string();
          }};
}

template <typename T>
WorkloadOption one_number(const char* name, const char* help, T least, T most,
                          std::optional<T> WorkloadOptions::*member) {
  return {name, "N", help,
          [=](WorkloadOptions& into, const std::string& text) -> Result<void> {
            std::optional<std::vector<T>> values;
            NCCLPROBE_TRY(parse_numbers<T>(text, least, most, values));
            if (values->size() != 1)
              return fail(Errc::invalid_argument, "'{}' is more than one number", text);
            into.*member = values->front();
            return {};
          },
          [=](const WorkloadOptions& options) {
            return options.*member ? word(*(options.*member)) : std::string();
          }};
}

// value "": a flag that turns it on.
WorkloadOption on_off(const char* name, const char* value, const char* help,
                      std::optional<bool> WorkloadOptions::*member) {
  return {name, value, help,
          [=](WorkloadOptions& into, const std::string& text) -> Result<void> {
            if (text != "on" && text != "off")
              return fail(Errc::invalid_argument, "'{}' is neither on nor off", text);
            into.*member = text == "on";
            return {};
          },
          [=](const WorkloadOptions& options) -> std::string {
            return options.*member ? (*(options.*member) ? "on" : "off") : "";
          }};
}

Result<void> read_compute(WorkloadOptions& into, const std::string& text) {
  StepCompute compute;
  if (text.starts_with(k_calibrated)) {
    compute.kind = StepCompute::Kind::calibrated;
    NCCLPROBE_TRY_ASSIGN(compute.backward_ns, parse_time_ns(text.substr(k_calibrated.size())));
  } else if (text == "none") {
    compute.kind = StepCompute::Kind::none;
  } else if (text != "gemm") {
    return fail(base::Error{Errc::invalid_argument, fmt::format("'{}' is no way to compute", text),
                            "gemm, none, or calibrated:MS such as calibrated:12.5"});
  }
  into.compute = compute;
  return {};
}

std::string write_compute(const WorkloadOptions& options) {
  if (!options.compute)
    return "";
  switch (options.compute->kind) {
  case StepCompute::Kind::gemm:
    return "gemm";
  case StepCompute::Kind::none:
    return "none";
  case StepCompute::Kind::calibrated:
    break;
  }
  return fmt::format("{}{}us", k_calibrated,
                     static_cast<double>(options.compute->backward_ns) / 1000);
}

Result<void> read_buckets(WorkloadOptions& into, const std::string& text) {
  NCCLPROBE_TRY_ASSIGN(const auto sizes, base::parse_sizes(text));
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end())
    return fail(Errc::invalid_argument, "'{}': a bucket holds at least a byte", text);
  into.buckets = sizes;
  return {};
}

std::string write_buckets(const WorkloadOptions& options) {
  std::vector<std::string> words;
  for (std::uint64_t bytes : options.buckets.value_or(std::vector<std::uint64_t>{}))
    words.push_back(base::format_bytes(bytes));
  return fmt::format("{}", fmt::join(words, ","));
}

Result<void> read_input_copies(WorkloadOptions& into, const std::string& text) {
  std::vector<workload::InputCopy> copies;
  for (std::size_t at = 0; at <= text.size();) {
    std::size_t comma = std::min(text.find(',', at), text.size());
    NCCLPROBE_TRY_ASSIGN(const workload::InputCopy copy,
                         workload::parse_input_copy(text.substr(at, comma - at)));
    if (std::find(copies.begin(), copies.end(), copy) == copies.end())
      copies.push_back(copy);
    at = comma + 1;
  }
  into.input_copies = std::move(copies);
  return {};
}

std::string write_input_copies(const WorkloadOptions& options) {
  std::vector<std::string> words;
  for (const workload::InputCopy& copy :
       options.input_copies.value_or(std::vector<workload::InputCopy>{}))
    words.push_back(input_copy_text(copy));
  return fmt::format("{}", fmt::join(words, ","));
}

std::vector<WorkloadOption> make_options() {
  using W = WorkloadOptions;
  return {
      one_name("workload", "NAME",
               "Measure steps of training in place of collectives: ddp, fsdp, tp, pipeline, moe, "
               "ddp+tp, fsdp+tp",
               &W::pattern, "workload"),
      {"model", "NAME|FILE",
       "What is trained: a name (`ncclprobe models` lists them, linear:WIDTHxDEPTH is one too) or "
       "a "
       "file of yours (.json, .toml)",
       [](W& into, const std::string& text) -> Result<void> {
         into.model = text;
         return {};
       },
       [](const W& options) { return options.model.value_or(""); }},
      one_number<std::uint64_t>("sequence", "Tokens of a sample (default: the model's)", 1, k_most,
                                &W::sequence),
      numbers<std::uint64_t>("batch", "Samples of each replica of the model in a step (default 8)",
                             1, &W::batches),
      names("type", "Of parameters, gradients and products: f32 (default), tf32, bf16, f16",
            &W::types, "data type of a step"),
      one_name("scaling", "NAME",
               "weak (default): --batch is that of each replica; strong: all share it", &W::scaling,
               "scaling"),
      numbers("ranks", nullptr, 1, &W::rank_counts),
      one_name("placement", "NAME", nullptr, &W::placement, "placement of ranks"),
      {"compute", "HOW",
       "gemm (default): the model's products; none; calibrated:MS: a busy device for a given time "
       "of the backward pass, and half of it forwards",
       read_compute, write_compute},
      on_off("optimizer", "on|off", "A step of AdamW at the end (default on)", &W::optimizer),
      numbers("accumulate", "Micro-steps of which the last communicates, as no_sync() does", 1,
              &W::accumulate),
      one_number<int>("comm-priority",
                      "Priority of communication streams; 5 is the most urgent there is (default "
                      "0)",
                      0, 5, &W::priority),
      {"bucket", "SIZE,...", "ddp: size of a bucket (default as PyTorch: 1M, then 25M)",
       read_buckets, write_buckets},
      on_off("bucket-view", "", "ddp: gradients live in their buckets (gradient_as_bucket_view)",
             &W::bucket_view),
      names("compress", "ddp: gradients are reduced as bf16 or f16 (default none)", &W::compression,
            "compression"),
      on_off("reshard", "on|off",
             "fsdp: parameters are gathered again for the backward pass (default on: ZeRO-3; off: "
             "ZeRO-2)",
             &W::reshard),
      numbers("prefetch", "fsdp: blocks that are gathered ahead (default 1)", 0, &W::prefetch),
      numbers("tensor", "tp: ranks that share each layer (default: all; 2 in ddp+tp, fsdp+tp)", 1,
              &W::tensor),
      on_off("sequence-parallel", "", "tp: reduce_scatter and all_gather in place of all_reduce",
             &W::sequence_parallel),
      numbers("micro-batches", "pipeline: parts of a batch (default: twice as many as stages)", 1,
              &W::micro_batches),
      {"input-copy", "KIND:SIZE,...",
       "Copy so much input a rank and step from memory of the host beside it, pinned:SIZE or "
       "pageable:SIZE, and tell what it and communication slow each other down by; the step "
       "without a copy is measured too",
       read_input_copies, write_input_copies},
      one_name("pipeline-order", "NAME", "pipeline: 1f1b (default), gpipe", &W::order,
               "order of a pipeline"),
  };
}

} // namespace

std::string WorkloadOption::key() const {
  std::string key = name;
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

const std::vector<WorkloadOption>& workload_options() {
  static const std::vector<WorkloadOption> all = make_options();
  return all;
}

const WorkloadOption& workload_option(std::string_view name) {
  return *std::find_if(workload_options().begin(), workload_options().end(),
                       [&](const WorkloadOption& one) { return one.name == name; });
}

void declare_workload_options(CLI::App& app, WorkloadOptions& options,
                              const std::set<std::string_view>& without) {
  for (const WorkloadOption& one : workload_options()) {
    if (one.help == nullptr || without.contains(one.name))
      continue;
    std::string name = std::string("--") + one.name;
    CLI::Option* added =
        *one.value == '\0'
            ? app.add_flag_callback(
                  name, [&one, &options] { std::ignore = one.read(options, "on"); }, one.help)
            : add_text(
                  app, name.c_str(), one.value, one.help,
                  [&one, &options](const std::string& text) { return one.read(options, text); });
    added->group("Steps of training");
  }
}

} // namespace ncclprobe::cli

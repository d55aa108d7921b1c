// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/common/common_options.h"

#include "base/exit_code.h"
#include "base/number_list.h"
#include "base/parse_enum.h"
#include "launch/cli/common/option_values.h"

namespace ncclprobe::cli {
namespace {

constexpr const char* k_backend_help = "{}; host is Gloo on the CPU";

template <typename T>
Option switch_option(const char* name, T& into, T on, const char* help,
                     OptionDetails details = {}) {
  return make_option(
      name, "", help, std::move(details),
      [&into, on](const std::string&) -> Result<void> {
        into = on;
        return {};
      },
      [&into, on] {
        return into == on ? std::vector<std::string>{"on"} : std::vector<std::string>();
      });
}

} // namespace

Words<std::filesystem::path> path_words(std::string example) {
  return {[](const std::string& text) -> Result<std::filesystem::path> { return text; },
          [](const std::filesystem::path& path) { return path.string(); }, std::move(example)};
}

Option backend_option(std::optional<std::string>& into) {
  return option("backend", "NAME", into, choice_words({"auto", "nvidia", "host", "synthetic"}),
                k_backend_help, {.initial = "auto"});
}

Option real_backend_option(std::optional<std::string>& into) {
  return option("backend", "NAME", into, choice_words({"auto", "nvidia", "host"}), k_backend_help,
                {.initial = "auto"});
}

Option ranks_option(std::optional<int>& into, int most) {
  return option("ranks", "N", into, number_words(1, most),
                "Number of ranks if started without mpirun",
                {.initial = "all GPUs, or 2 on the CPU"});
}

Option seed_option(std::optional<std::uint64_t>& into) {
  return option("seed", "N", into,
                number_words<std::uint64_t>(0, INT64_MAX), // plan files hold signed integers
                "Seed for the order of trials and for the data patterns",
                {.initial = "random, recorded"});
}

Option note_option(std::string& into) {
  return option("note", "TEXT", into, text_words("after the driver update"),
                "Store this text with the run, and show it at the top of the report");
}

Option library_option(std::vector<model::Setting>& into) {
  Words<model::Setting> words{[](const std::string& text) -> Result<model::Setting> {
                                NCCLPROBE_TRY_ASSIGN(model::Setting library, parse_setting(text));
                                NCCLPROBE_TRY(check_library_name(library.name));
                                return library;
                              },
                              setting_text, "nccl=/opt/nccl-2.27/lib/libnccl.so.2"};
  return repeated("library", "NAME=PATH", into, std::move(words),
                  "Load this shared library: nccl, nvml, cupti or cublaslt; worker=PATH selects "
                  "this ncclprobe-worker");
}

Options timeout_options(MeasuringOptions& into) {
  return {option("cell-timeout", "TIME", into.cell_deadline_ns, duration_words(),
                 "A cell that takes longer counts as hung", {.initial = "30s"}),
          option("startup-timeout", "TIME", into.startup_deadline_ns, duration_words(),
                 "Time limit from the start of a process to its first cell", {.initial = "180s"})};
}

Option input_option(const char* name, std::filesystem::path& into, const char* help,
                    OptionDetails details) {
  return option(name, "RUN.h5", into, path_words("run.h5"), help, std::move(details));
}

Option trial_option(std::optional<int>& into, OptionDetails details) {
  details.initial = "the first traced one";
  return option("trial", "N", into, number_words(0, k_most), "The trial whose trace is read",
                std::move(details));
}

Option window_option(std::optional<analysis::timeline::WindowRequest>& into,
                     OptionDetails details) {
  return option("window", "WINDOW", into,
                Words<analysis::timeline::WindowRequest>{
                    analysis::timeline::parse_window,
                    [](const analysis::timeline::WindowRequest& window) { return window.text; },
                    "step:3-5"},
                "Use only this part of the trace: times from the start of the timed part (0:5ms, "
                ":500ms, 1.2s:), or whole steps, counted from 0 (step:3, step:3-5)",
                std::move(details));
}

Option traced_ranks_option(std::vector<int>& into, OptionDetails details) {
  return option("ranks", "LIST", into,
                Words<std::vector<int>>{[](const std::string& text) -> Result<std::vector<int>> {
                                          auto ranks = base::parse_number_list(text);
                                          if (ranks.empty())
                                            return base::fail(
                                                {base::Errc::invalid_argument,
                                                 fmt::format("'{}' is not a list of ranks", text),
                                                 "write 0,4-7"});
                                          return ranks;
                                        },
                                        base::format_number_list, "0,4-7"},
                "Use only these ranks", std::move(details));
}

Option price_option(std::map<std::string, double>& into, const char* help, OptionDetails details) {
  details.repeats = true;
  details.example = "T4=800";
  return make_option(
      "price", "[GPU=]VALUE", help, std::move(details),
      [&into](const std::string& text) { return add_price(text, into); },
      [&into] {
        std::vector<std::string> texts;
        for (const auto& [gpu, price] : into)
          texts.push_back(fmt::format("{}{}{}", gpu, gpu.empty() ? "" : "=", price));
        return texts;
      });
}

Option run_file_option(std::optional<std::string>& into) {
  return option("output", "FILE", into, text_words("run.h5"),
                "Run file to write. If the suffix is .json, .csv or .html, the report is written "
                "to this file, and the run file gets the default name",
                {.also = "-o", .initial = "ncclprobe-<time>.h5"});
}

namespace {

// Refuses a format that this build cannot write, before any work.
template <typename T>
Words<T> writable(Words<T> words) {
  words.read = [read = words.read](const std::string& text) -> base::Result<T> {
    NCCLPROBE_TRY_ASSIGN(T format, read(text));
    if (const auto known = base::parse_enum<analysis::Format>(text, "format"))
      NCCLPROBE_TRY(analysis::check_format(*known));
    return format;
  };
  return words;
}

} // namespace

Option format_option(std::string& into, const char* help, std::vector<std::string> choices) {
  return option("format", "FORMAT", into, writable(choice_words(std::move(choices))), help,
                {.also = "-f"});
}

Option format_option(std::optional<analysis::Format>& into) {
  return option("format", "FORMAT", into, writable(name_words<analysis::Format>("format")),
                "{}; json is one object, csv has a header and rows, html is one page",
                {.also = "-f", .initial = "table"});
}

Options result_options(ResultOptions& into, std::vector<std::string> formats, const char* help) {
  into.format = formats.front();
  return joined({{format_option(into.format, help, std::move(formats))},
                 text_file_options(into.output),
                 log_options(into.verbosity)});
}

Options text_file_options(base::Destination& into) {
  return {
      option("output", "FILE", into.file, path_words("result.json"),
             "Write to this file instead of standard output; without --format, its suffix selects "
             "the format, such as .json, .csv, .md or .html",
             {.also = "-o"}),
      force_option(into.overwrite, "Replace the file if it exists")};
}

Option force_option(base::Overwrite& into, const char* help) {
  return switch_option("force", into, base::Overwrite::yes, help);
}

Options log_options(base::Verbosity& into) {
  return {switch_option("quiet", into, base::Verbosity::quiet, "On stderr, print only errors",
                        {.also = "-q"}),
          switch_option("verbose", into, base::Verbosity::verbose, "Print more messages on stderr",
                        {.also = "-v"})};
}

std::vector<ExitMeaning> measurement_exits(const char* environment) {
  return {{base::k_exit_ok, "everything was measured"},
          {base::k_exit_some_failed, "some cells failed, timed out or were skipped"},
          {base::k_exit_nothing, "nothing could be measured"},
          {base::k_exit_wrong_data, "a collective or a transfer delivered wrong data"},
          {base::k_exit_environment, environment},
          {base::k_exit_interrupted, "interrupted"}};
}

} // namespace ncclprobe::cli

// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_writers.h"
#include "analysis/timeline/trace_window.h"
#include "launch/cli/common/usage.h"
#include "model/trial.h"

#include <filesystem>
#include <map>

// Options that several commands share, with the same meaning everywhere.
namespace ncclprobe::cli {

inline constexpr int k_most = 1'000'000; // limit of counts: ranks, repeats, batches

template <typename T>
Words<std::vector<T>> numbers(T least, T most = k_most) {
  return list_of(number_words<T>(least, most));
}

// For commands that measure. Unset: as in their default job.
struct MeasuringOptions {
  std::optional<std::string> backend;
  std::optional<int> ranks;
  std::optional<int> repeats;
  std::optional<std::uint64_t> seed;
  std::string note;
  std::vector<model::Setting> libraries;
  std::optional<std::int64_t> cell_deadline_ns, startup_deadline_ns;
  std::optional<std::string> output; // the run file; or the report's, by its suffix
  bool force = false; // replace the run file; with --resume: accept another machine or environment
  std::optional<analysis::Format>
      format; // of the report; unset: a table and the place of the run file
  base::Verbosity verbosity = base::Verbosity::normal;
};

// real_backend_option() lacks the synthetic backend.
Option backend_option(std::optional<std::string>& into);
Option real_backend_option(std::optional<std::string>& into);
Option ranks_option(std::optional<int>& into, int most);
Option seed_option(std::optional<std::uint64_t>& into);
Option note_option(std::string& into);
Option library_option(std::vector<model::Setting>& into);
Options timeout_options(MeasuringOptions& into);

Words<std::filesystem::path> path_words(std::string example);

// For commands that read runs and traces.
Option input_option(const char* name, std::filesystem::path& into, const char* help,
                    OptionDetails details = {.positional = true, .required = true});
Option trial_option(std::optional<int>& into, OptionDetails details = {});
Option window_option(std::optional<analysis::timeline::WindowRequest>& into,
                     OptionDetails details = {});
Option traced_ranks_option(std::vector<int>& into, OptionDetails details = {});
Option price_option(std::map<std::string, double>& into, const char* help,
                    OptionDetails details = {});

Option run_file_option(std::optional<std::string>& into); // --output

// For commands whose result is a text.
Option format_option(std::string& into, const char* help, std::vector<std::string> choices);
// --format (default: the first), --output, --force, --quiet, --verbose.
Options result_options(ResultOptions& into, std::vector<std::string> formats,
                       const char* help = "{}");
Option format_option(std::optional<analysis::Format>& into);
Options text_file_options(base::Destination& into); // --output, --force
Option force_option(base::Overwrite& into, const char* help);
Options log_options(base::Verbosity& into); // --quiet, --verbose

// For commands that measure. `environment`: the meaning of k_exit_environment.
std::vector<ExitMeaning> measurement_exits(const char* environment);

} // namespace ncclprobe::cli

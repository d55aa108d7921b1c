// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/files/report_files.h"

#include "base/console.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/text_layout.h"
#include "launch/cli/common/file_kind.h"
#include "store/run_file.h"
#include "store/trace_parts.h"
#include "store/trial_stream.h"

namespace ncclprobe::cli {
namespace {

template <typename T>
Result<T> with_hint(Result<T> run, const std::filesystem::path& file) {
  if (!run && run.error().hint.empty()) {
    run.error().hint = "give the file that ncclprobe named as its run file";
    if (kind_of_file(file) != InputKind::run)
      run.error() = with_right_command(std::move(run.error()), file);
  }
  return run;
}

} // namespace

Result<model::Run> read_run_or_parts(const std::filesystem::path& run_file) {
  return with_hint(store::read_run(run_file), run_file);
}

Result<analysis::RunSummary> read_summary(const std::filesystem::path& run_file) {
  analysis::RunSummary summary;
  store::TrialSink sink;
  sink.begin = [&](model::RunHeader header, std::size_t trials) {
    summary = analysis::RunSummary(std::move(header), trials);
  };
  sink.take = [&](std::size_t index, model::TrialRecord trial) {
    summary.add(index, std::move(trial));
  };
  sink.take_cell = [&](std::size_t index, const model::TrialSpec& spec, std::size_t cell,
                       model::CellRecord& record) { summary.add_cell(index, spec, cell, record); };
  NCCLPROBE_TRY(store::read_trials(run_file, sink));
  return summary;
}

Result<analysis::RunSummary> read_summary_or_parts(const std::filesystem::path& run_file) {
  return with_hint(read_summary(run_file), run_file);
}

Result<void> fold_parts(const std::filesystem::path& run_file) {
  NCCLPROBE_TRY_ASSIGN(const store::FoldReport folded, store::fold(run_file));
  for (const std::string& damaged : folded.damaged)
    spdlog::error("left out of the run file: {}", damaged);
  for (const std::string& remark : folded.trace_remarks)
    spdlog::warn("{}", remark);
  return {};
}

int complain(const std::string& command, const Error& error, int exit_code) {
  base::print(base::StandardStream::err, base::hanging(command + ": " + error.text()) + "\n");
  return exit_code;
}

int complain_of_input(const std::string& command, const Error& error) {
  return complain(command, error,
                  error.code == Errc::unavailable ? base::k_exit_environment : base::k_exit_usage);
}

std::filesystem::path run_file_of(const std::filesystem::path& folder) {
  std::filesystem::path name =
      folder.filename().empty() ? folder.parent_path() : folder; // "run.trace/"
  return name.extension() == ".trace" ? name.replace_extension(".h5") : std::filesystem::path();
}

namespace {

Result<void> check_distinct(const std::filesystem::path& output,
                            const std::filesystem::path& run_file, const char* option) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  auto refuse = [&](const char* what) {
    return fail({Errc::invalid_argument, fmt::format("{} {} is {}", option, output.string(), what),
                 "name another file"});
  };
  // The run file of an unfolded run does not exist yet.
  const fs::path name = fs::weakly_canonical(output, ignored);
  auto is_output = [&](const fs::path& file) {
    return fs::equivalent(output, file, ignored) ||
           (!name.empty() && name == fs::weakly_canonical(file, ignored));
  };
  const bool is_folder = fs::is_directory(run_file, ignored);
  if (is_output(run_file))
    return refuse("the run file itself");
  if (is_folder && !run_file_of(run_file).empty() && is_output(run_file_of(run_file)))
    return refuse("the run file of these traces");
  for (const store::StoredTrace& trace : store::list_traces(run_file))
    if (fs::equivalent(output, trace.path, ignored))
      return refuse("a trace of the run");
  const fs::path extension = output.extension();
  if (is_folder && (extension == ".spool" || extension == ".h5") &&
      fs::equivalent(fs::absolute(output).parent_path(), run_file, ignored) &&
      fs::exists(output, ignored))
    return refuse("a file to be read");
  return {};
}

} // namespace

Result<void> check_output(const base::Destination& output,
                          const std::vector<std::filesystem::path>& inputs, const char* option) {
  if (output.file.empty())
    return {};
  for (const std::filesystem::path& input : inputs)
    if (!input.empty())
      NCCLPROBE_TRY(check_distinct(output.file, input, option));
  return base::check_output_file(output);
}

int complain_of_output(const std::string& command, const Error& error) {
  return complain(command, error,
                  error.code == Errc::io ? base::k_exit_output : base::k_exit_usage);
}

} // namespace ncclprobe::cli

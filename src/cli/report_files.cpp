// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/report_files.h"

#include "base/atomic_file.h"
#include "base/exit_code.h"
#include "store/run_file.h"
#include "store/trace_parts.h"

#include <ostream>

namespace ncclprobe::cli {

base::Result<model::Run> read_run_or_parts(const std::filesystem::path& run_file,
                                           std::ostream& err) {
  // They are read all the same if they cannot be folded: the run is still going on, or the folder
  // is not ours to write.
  if (auto folded = store::fold(run_file); folded) {
    for (const std::string& damaged : folded->damaged)
      err << "ncclprobe-report: left out of the run file: " << damaged << "\n";
    for (const std::string& remark : folded->trace_remarks)
      err << "ncclprobe-report: " << remark << "\n";
  }
  auto run = store::read_run(run_file);
  if (!run && run.error().hint.empty())
    run.error().hint = "give the file that ncclprobe named as its run file";
  return run;
}

int complain(std::ostream& err, const std::string& command, const base::Error& error,
             int exit_code) {
  err << command << ": " << error.text() << "\n";
  return exit_code;
}

std::filesystem::path run_file_of(const std::filesystem::path& folder) {
  std::filesystem::path name =
      folder.filename().empty() ? folder.parent_path() : folder; // "run.trace/"
  return name.extension() == ".trace" ? name.replace_extension(".h5") : std::filesystem::path();
}

base::Result<void> check_output(const std::filesystem::path& output,
                                const std::filesystem::path& run_file, const char* option) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  auto refuse = [&](const char* what) {
    return base::fail({base::Errc::invalid_argument,
                       fmt::format("{} {} is {}", option, output.string(), what),
                       "name another file"});
  };
  if (output.empty())
    return {};
  // A run that lies in parts gets its file only when it is read.
  auto is_output = [&](const fs::path& file) {
    return fs::equivalent(output, file, ignored) ||
           fs::weakly_canonical(output, ignored) == fs::weakly_canonical(file, ignored);
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
    return refuse("what is to be read");
  return {};
}

int write_text(const std::string& text, const std::filesystem::path& output, std::ostream& out,
               std::ostream& err, const std::string& command) {
  if (!output.empty()) {
    auto written = base::write_file_atomically(output, text);
    return written ? base::k_exit_ok : complain(err, command, written.error(), base::k_exit_output);
  }
  out << text << std::flush;
  if (!out)
    return complain(err, command,
                    {base::Errc::io, "cannot write to standard output", "is the disk full?"},
                    base::k_exit_output);
  return base::k_exit_ok;
}

} // namespace ncclprobe::cli

// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/import/import_command.h"

#include "analysis/imports/import_format.h"
#include "analysis/imports/imported_run.h"
#include "base/console.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "base/shell_word.h"
#include "base/text_layout.h"
#include "base/version.h"
#include "launch/cli/files/report_files.h"
#include "store/run_file.h"

#include <algorithm>
#include <filesystem>

namespace ncclprobe::cli {
namespace {

namespace imports = analysis::imports;

constexpr const char* k_import_command = "ncclprobe import";

Result<std::string> content_of(const std::string& file) {
  std::error_code ignored;
  if (file != "-" && std::filesystem::is_directory(file, ignored))
    return fail({Errc::invalid_argument, fmt::format("{} is a folder", file),
                 fmt::format("name its files, such as {}/*.log", file)});
  return base::read_text(file == "-" ? "/dev/stdin" : file);
}

Result<imports::ImportText> read_file(const std::string& file, const ImportOptions& options) {
  imports::ImportText read{.path = file};
  NCCLPROBE_TRY_ASSIGN(read.text, content_of(file));
  if (options.format) {
    read.format = *options.format;
    return read;
  }
  auto format = imports::format_of(read.text);
  if (!format)
    return with_context(std::move(format.error()), file);
  read.format = *format;
  return read;
}

// Keeps one launch of all inputs, counted from 1 in their order.
Result<void> choose_launch(std::vector<imports::ImportedInput>& inputs, int launch) {
  std::size_t before = 0;
  const auto wanted = static_cast<std::size_t>(launch) - 1;
  for (imports::ImportedInput& input : inputs) {
    if (wanted < before + input.processes.size()) {
      imports::ImportedProcess one = std::move(input.processes[wanted - before]);
      input.processes.clear();
      input.processes.push_back(std::move(one));
      imports::ImportedInput chosen = std::move(input);
      inputs.clear();
      inputs.push_back(std::move(chosen));
      return {};
    }
    before += input.processes.size();
  }
  return fail(Errc::invalid_argument, "--launch {}: there are only {}", launch, before);
}

Result<model::Run> read_run(const ImportOptions& options) {
  std::vector<imports::ImportText> files;
  for (const std::string& file : options.files) {
    NCCLPROBE_TRY_ASSIGN(imports::ImportText read, read_file(file, options));
    const auto same = std::ranges::find(files, read.text, &imports::ImportText::text);
    if (same == files.end())
      files.push_back(std::move(read));
    else
      spdlog::warn("{} is left out: its content is that of {}", file, same->path);
  }
  NCCLPROBE_TRY_ASSIGN(auto inputs, imports::read_inputs(files, options.hints));
  if (options.launch)
    NCCLPROBE_TRY(choose_launch(inputs, *options.launch));
  NCCLPROBE_TRY_ASSIGN(model::Run run, imports::make_run(inputs));
  run.header.ncclprobe_version = base::version_and_build();
  run.header.argv = {"ncclprobe", "import"};
  run.header.argv.insert(run.header.argv.end(), options.files.begin(), options.files.end());
  run.header.note = options.note;
  return run;
}

Result<void> write_run(const model::Run& run, const base::Destination& to) {
  NCCLPROBE_TRY_ASSIGN(const std::filesystem::path file,
                       base::regular_output_path(to, "a run file cannot be written into it"));
  NCCLPROBE_TRY(store::begin_run(file, run.header, to.overwrite));
  for (const model::TrialRecord& trial : run.trials)
    NCCLPROBE_TRY(store::write_part(file, trial));
  return fold_parts(file);
}

void tell(const model::Run& run, const std::string& file) {
  for (const model::ImportedFile& one : run.header.imported)
    for (const std::string& remark : one.remarks)
      spdlog::warn("{}: {}", one.path, remark);
  std::size_t cells = 0;
  for (const model::TrialRecord& trial : run.trials)
    cells += trial.cells.size();
  base::print(base::StandardStream::out,
              fmt::format("{}: {} from {}; `ncclprobe report {}` shows them\n", file,
                          base::count_of(cells, "result", "results"),
                          base::count_of(run.trials.size(), "launch", "launches"),
                          base::shell_word(file)));
}

} // namespace

int import_files(const ImportOptions& options) {
  std::vector<std::filesystem::path> inputs(options.files.begin(), options.files.end());
  if (auto possible = check_output(options.output, inputs); !possible)
    return complain_of_output(k_import_command, possible.error());
  auto run = read_run(options);
  if (!run)
    return complain_of_input(k_import_command, run.error());
  if (auto written = write_run(*run, options.output); !written)
    return complain_of_output(k_import_command, written.error());
  tell(*run, options.output.file.string());
  return base::k_exit_ok;
}

} // namespace ncclprobe::cli

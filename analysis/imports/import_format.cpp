// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/imports/import_format.h"

#include "analysis/imports/inspector_json.h"
#include "analysis/imports/nccl_tests_json.h"
#include "analysis/imports/nccl_tests_text.h"
#include "analysis/imports/nvbandwidth_json.h"
#include "base/hash.h"

#include <optional>

namespace ncclprobe::analysis::imports {
namespace {

using model::ImportFormat;

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

Result<ImportedProcesses> read_one(const ImportText& file, const ImportHints& hints) {
  switch (file.format) {
  case ImportFormat::nccl_tests_json:
    return read_nccl_tests_json(file.text, hints);
  case ImportFormat::nvbandwidth_json:
    return read_nvbandwidth_json(file.text, hints);
  default:
    return read_nccl_tests_text(file.text, hints);
  }
}

} // namespace

Result<ImportFormat> format_of(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  const bool is_object = first != std::string_view::npos && text[first] == '{';
  if (is_object && (contains(text, "\"coll_perf\"") || contains(text, "\"p2p_perf\"")))
    return ImportFormat::nccl_inspector;
  if (contains(text, "\"nvbandwidth\"") && contains(text, "\"testcases\""))
    return ImportFormat::nvbandwidth_json;
  if (is_object && contains(text, "\"nccl_version\"") && contains(text, "\"config\""))
    return ImportFormat::nccl_tests_json;
  if (is_nccl_tests_text(text))
    return ImportFormat::nccl_tests_text;
  if (contains(text, "nvbandwidth Version:"))
    return fail({Errc::invalid_argument, "it is the text of nvbandwidth, which is not read",
                 "run nvbandwidth with -j, which prints JSON"});
  return fail({Errc::invalid_argument, "its format is not known",
               "looked for: the table of nccl-tests (\"# nThread\", algbw, busbw), its JSON (-J: "
               "nccl_version, config), NCCL Inspector's lines (coll_perf), nvbandwidth's JSON (-j: "
               "testcases); --format names it"});
}

Result<std::vector<ImportedInput>> read_inputs(const std::vector<ImportText>& files,
                                               const ImportHints& hints) {
  std::vector<ImportedInput> inputs;
  std::vector<std::string_view> of_inspector;
  std::optional<std::size_t> first_of_inspector;
  for (const ImportText& file : files) {
    ImportedInput input{.path = file.path,
                        .format = file.format,
                        .fingerprint = fmt::format("{:016x}", base::Hash().add(file.text).value()),
                        .processes = {}};
    if (file.format == ImportFormat::nccl_inspector) {
      of_inspector.push_back(file.text);
      first_of_inspector = first_of_inspector.value_or(inputs.size());
    } else if (auto processes = read_one(file, hints)) {
      input.processes = std::move(*processes);
    } else {
      return with_context(std::move(processes.error()), file.path);
    }
    inputs.push_back(std::move(input));
  }
  if (first_of_inspector) {
    auto process = read_inspector(of_inspector, hints);
    if (!process)
      return with_context(std::move(process.error()), inputs[*first_of_inspector].path);
    inputs[*first_of_inspector].processes.push_back(std::move(*process));
  }
  return inputs;
}

} // namespace ncclprobe::analysis::imports

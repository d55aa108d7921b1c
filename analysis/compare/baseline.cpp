// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/compare/baseline.h"

#include "analysis/compare/comparison_words.h"
#include "analysis/compare/gate.h"
#include "base/atomic_file.h"
#include "base/json_document.h"
#include "base/printable.h"
#include "base/text_files.h"

#include <algorithm>
#include <cctype>

namespace ncclprobe::analysis::compare {
namespace {

namespace fs = std::filesystem;

constexpr const char* k_format = "ncclprobe baseline";
constexpr int k_version = 1;

struct BaselineFile {
  std::string format = k_format;
  int version = k_version;
  ComparedRun run;
};
NCCLPROBE_FIELDS(BaselineFile, format, version, run)

// Letters, digits, '-', '_' and '.': safe in every file system and shell.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name.front() != '.' && name.front() != '-' &&
         std::ranges::all_of(name, [](unsigned char c) {
           return std::isalnum(c) || c == '-' || c == '_' || c == '.';
         });
}

Result<fs::path> folder_of(const fs::path& folder, const std::string& name) {
  if (!is_plain_name(name))
    return fail({Errc::invalid_argument,
                 fmt::format("'{}' is not a valid name for a baseline", base::printable(name)),
                 "use letters, digits, '-', '_' and '.'"});
  return folder / name;
}

std::string file_name(const ComparedRun& run) {
  // The start of an imported run may be unknown.
  std::string name = run.started_utc + (run.started_utc.empty() ? "" : "-") + run.run_id;
  std::erase_if(name, [](unsigned char c) { return !std::isalnum(c) && c != '-'; });
  return name + ".json";
}

// The kinds of the key in which they differ; those that a side does not know count as equal.
std::vector<Suspect> key_differences(const ComparedRun& a, const ComparedRun& b,
                                     const std::vector<FactKind>& vary) {
  std::vector<Suspect> differ;
  for (Suspect& one : suspects(a.facts, b.facts))
    if (std::ranges::count(baseline_key(), one.kind) > 0 && std::ranges::count(vary, one.kind) == 0)
      differ.push_back(std::move(one));
  return differ;
}

} // namespace

const std::vector<FactKind>& baseline_key() {
  static const std::vector<FactKind> k_key{FactKind::backend, FactKind::gpu, FactKind::fabric,
                                           FactKind::ranks, FactKind::nccl};
  return k_key;
}

Result<ComparedRun> read_baseline_file(const fs::path& path) {
  NCCLPROBE_TRY_ASSIGN(const std::string text, base::read_text(path));
  auto file = base::parse_json<BaselineFile>(text);
  if (!file)
    return fail(Errc::protocol, "{} is not a baseline file: {}", path.string(),
                file.error().message);
  if (file->format != k_format || file->version != k_version)
    return fail(Errc::protocol, "{} is of format '{}', version {}; this program reads version {}",
                path.string(), base::printable(file->format), file->version, k_version);
  std::ranges::sort(file->run.cells, {}, &RunCell::key);
  return std::move(file->run);
}

Result<fs::path> add_to_baseline(const fs::path& folder, const std::string& name,
                                 const ComparedRun& run) {
  NCCLPROBE_TRY_ASSIGN(const fs::path into, folder_of(folder, name));
  std::error_code error;
  fs::create_directories(into, error);
  if (error)
    return fail(Errc::io, "cannot make the folder {}: {}", into.string(), error.message());
  const fs::path path = into / file_name(run);
  if (fs::exists(path, error))
    return fail(Errc::invalid_argument, "{} is in the baseline already: {}", run.name,
                path.string());
  const BaselineFile file{.run = run};
  NCCLPROBE_TRY(base::write_file_atomically(path, base::json_text(base::writable(file), 1) + "\n"));
  return path;
}

Result<std::vector<ComparedRun>> read_baseline(const fs::path& folder, const std::string& name) {
  NCCLPROBE_TRY_ASSIGN(const fs::path from, folder_of(folder, name));
  std::vector<ComparedRun> runs;
  for (const std::string& file : base::names_in(from))
    if (fs::path(file).extension() == ".json") {
      NCCLPROBE_TRY_ASSIGN(ComparedRun run, read_baseline_file(from / file));
      runs.push_back(std::move(run));
    }
  if (runs.empty())
    return fail({Errc::not_found, fmt::format("there is no baseline in {}", from.string()),
                 fmt::format("make one: ncclprobe baseline add {} run.h5", name)});
  return runs;
}

Result<std::vector<ComparedRun>> matching(std::vector<ComparedRun> baseline, const ComparedRun& run,
                                          const std::vector<FactKind>& vary) {
  std::vector<Suspect> of_nearest;
  std::size_t others = 0;
  std::erase_if(baseline, [&](const ComparedRun& one) {
    if (one.run_id == run.run_id)
      return true;
    auto differ = key_differences(one, run, vary);
    if (differ.empty())
      return false;
    if (others++ == 0 || differ.size() < of_nearest.size())
      of_nearest = std::move(differ);
    return true;
  });
  if (!baseline.empty())
    return baseline;
  std::vector<std::string> texts;
  bool may_vary = true;
  for (const Suspect& one : of_nearest) {
    texts.push_back(in_words(one));
    may_vary = may_vary && std::ranges::count(guarded_facts(), one.kind) > 0;
  }
  return fail({Errc::mismatch,
               others == 0
                   ? "the baseline holds no run but this one"
                   : fmt::format("no run of the baseline matches {} (baseline against run): "
                                 "{}",
                                 run.name, fmt::join(texts, "; ")),
               others == 0 ? "add other runs to it"
               : may_vary  ? "--vary allows a difference"
                           : "make a baseline of such runs"});
}

} // namespace ncclprobe::analysis::compare

// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/trace_parts.h"

#include "trace/spool_path.h"

#include "base/own_folder.h"
#include "store/file_making.h"
#include "store/run_file.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

namespace ncclprobe::store {
namespace {

namespace fs = std::filesystem;

struct Found {
  int trial = -1;
  int rank = -1;
  fs::path path;
};

// Files "trace-<trial>-<rank><extension>" in the parts folder.
std::vector<Found> find_parts(const fs::path& run_file, const char* extension) {
  std::vector<Found> found;
  std::error_code ignored; // no folder, so no files
  for (fs::directory_iterator at(parts_folder(run_file), ignored), end; !ignored && at != end;
       at.increment(ignored)) {
    Found one{.path = at->path()};
    if (one.path.extension() == extension &&
        std::sscanf(one.path.filename().c_str(), "trace-%d-%d", &one.trial, &one.rank) == 2)
      found.push_back(std::move(one));
  }
  std::ranges::sort(found, {}, &Found::path);
  return found;
}

// A worker that is killed as it starts leaves an empty spool.
bool is_empty(const Found& spool) {
  std::error_code trouble;
  return fs::file_size(spool.path, trouble) == 0;
}

std::vector<Found> find_spools(const fs::path& run_file) {
  std::vector<Found> spools = find_parts(run_file, ".spool");
  std::erase_if(spools, is_empty);
  return spools;
}

// The spool of the worker whose first rank it is, and its clock readings if there are any.
std::vector<fs::path> spools_of(const fs::path& run_file, int trial, int rank) {
  std::vector<fs::path> spools{trace_part_path(run_file, trial, rank).replace_extension(".spool")};
  std::error_code ignored;
  if (fs::path clock = trace_clock_path(run_file, trial, rank); fs::exists(clock, ignored))
    spools.push_back(std::move(clock));
  return spools;
}

// Makes the trace of one trial from its parts, which are removed once it is safe.
Result<TraceReport> store_trace(const fs::path& run_file, int trial,
                                const std::vector<fs::path>& parts) {
  const fs::path target = trace_path(run_file, trial);
  NCCLPROBE_TRY(base::make_own_folder(target.parent_path()));
  std::error_code trouble;
  std::vector<fs::path> all = parts; // newer than what is stored
  if (fs::exists(target, trouble))
    all.push_back(target);
  auto report = merge_traces(all, target, parts_folder(run_file));
  if (!report)
    return fail(with_sources_kept(std::move(report.error()),
                                  "its parts in " + parts_folder(run_file).string()));
  for (const fs::path& part : parts)
    fs::remove(part, trouble);
  return report;
}

} // namespace

fs::path trace_part_path(const fs::path& run_file, int trial, int rank) {
  return trace::spool_path(parts_folder(run_file), trial, rank).replace_extension(".h5");
}

fs::path trace_clock_path(const fs::path& run_file, int trial, int rank) {
  return trace_part_path(run_file, trial, rank).replace_extension(".clock");
}

fs::path traces_folder(const fs::path& run_file) {
  return fs::path(run_file).replace_extension(".trace");
}

fs::path trace_path(const fs::path& run_file, int trial) {
  return traces_folder(run_file) / fmt::format("trial-{:06}.h5", trial);
}

std::vector<StoredTrace> list_traces(const fs::path& run_file) {
  std::vector<StoredTrace> traces;
  std::error_code ignored;
  for (fs::directory_iterator at(traces_folder(run_file), ignored), end; !ignored && at != end;
       at.increment(ignored)) {
    StoredTrace one{.path = at->path()};
    if (one.path.extension() == ".h5" &&
        std::sscanf(one.path.filename().c_str(), "trial-%d", &one.trial) == 1)
      traces.push_back(std::move(one));
  }
  std::ranges::sort(traces, {}, &StoredTrace::trial);
  return traces;
}

Result<TraceReport> store_trace_part(const fs::path& run_file, const TraceIdentity& identity,
                                     int rank, const std::function<void()>& meanwhile) {
  fs::path part = trace_part_path(run_file, identity.trial, rank);
  const std::vector<fs::path> spools = spools_of(run_file, identity.trial, rank);
  std::error_code ignored; // if it stays, the next fold finds it and its part again
  auto report = convert_spools(spools, part, identity, meanwhile);
  if (!report)
    return fail(with_sources_kept(std::move(report.error()),
                                  "its spools in " + parts_folder(run_file).string()));
  for (const fs::path& one : spools)
    fs::remove(one, ignored);
  return report;
}

std::vector<int> unfolded_traces(const fs::path& run_file) {
  std::set<int> trials;
  for (const Found& spool : find_spools(run_file))
    trials.insert(spool.trial);
  for (const Found& part : find_parts(run_file, ".h5"))
    trials.insert(part.trial);
  return {trials.begin(), trials.end()};
}

Result<TraceReport> gather_trace(const fs::path& run_file, const TraceIdentity& identity,
                                 const fs::path& target) {
  std::vector<std::string> remarks;
  std::vector<fs::path> all;
  for (const Found& spool : find_spools(run_file)) {
    if (spool.trial != identity.trial)
      continue;
    fs::path part = target.parent_path() / fmt::format("rank-{}.h5", spool.rank);
    auto made = convert_spools(spools_of(run_file, spool.trial, spool.rank), part, identity);
    if (made) {
      all.push_back(std::move(part));
      remarks.insert(remarks.end(), made->remarks.begin(), made->remarks.end());
    } else {
      remarks.push_back(made.error().text());
    }
  }
  for (const Found& part : find_parts(run_file, ".h5"))
    if (part.trial == identity.trial)
      all.push_back(part.path);
  std::error_code ignored;
  if (fs::path stored = trace_path(run_file, identity.trial); fs::exists(stored, ignored))
    all.push_back(std::move(stored));
  NCCLPROBE_TRY_ASSIGN(TraceReport report, merge_traces(all, target));
  report.remarks.insert(report.remarks.begin(), remarks.begin(), remarks.end());
  return report;
}

std::vector<std::string> fold_traces(const fs::path& run_file,
                                     const std::function<TraceIdentity(int)>& identity_of) {
  std::vector<std::string> remarks;
  auto note = [&](int trial, const Result<TraceReport>& result) {
    if (!result)
      remarks.push_back(fmt::format("the trace of trial {}: {}", trial, result.error().text()));
    else
      for (const std::string& remark : result->remarks)
        remarks.push_back(fmt::format("the trace of trial {}: {}", trial, remark));
  };
  for (const Found& spool : find_spools(run_file))
    note(spool.trial, store_trace_part(run_file, identity_of(spool.trial), spool.rank));
  std::map<int, std::vector<fs::path>> parts_of;
  for (const Found& part : find_parts(run_file, ".h5"))
    parts_of[part.trial].push_back(part.path);
  for (const auto& [trial, parts] : parts_of)
    note(trial, store_trace(run_file, trial, parts));
  return remarks;
}

void remove_trace_leftovers(const fs::path& run_file) {
  std::error_code ignored;
  for (const Found& spool : find_parts(run_file, ".spool"))
    if (is_empty(spool))
      fs::remove(spool.path, ignored);
  for (const Found& clock : find_parts(run_file, ".clock"))
    if (!fs::exists(fs::path(clock.path).replace_extension(".spool"), ignored))
      fs::remove(clock.path, ignored);
}

} // namespace ncclprobe::store

// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/trial_stream.h"

#include "base/log.h"
#include "store/run_parts.h"
#include "store/run_records.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <system_error>
#include <thread>
#include <utility>

namespace ncclprobe::store {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t k_rows_for_threads = 200'000; // with fewer rows one thread is faster
constexpr std::size_t k_most_threads = 4;
constexpr int k_most_attempts = 3;

// A file and its content, except large columns.
struct Source {
  Source(const fs::path& file, Tables outline)
      : path(file), tables(std::move(outline)), children(child_rows(tables, FileKind::trial)),
        ids(trial_ids(tables)), most_bytes(limits_for(path, {}).memory_bytes) {}

  fs::path path;
  Tables tables;
  ChildRows children;
  std::vector<std::int32_t> ids;
  std::uint64_t most_bytes; // of a trial
};

// A trial in its source, and its position by id.
struct Place {
  std::size_t source;
  std::size_t trial;
  std::size_t index;
};

struct StoredTrials {
  model::RunHeader header;
  std::deque<Source> sources; // elements stay where they are
  std::vector<Place> places;  // by source and trial
};

// Reasons why parts cannot be read, by path.
using Damaged = std::map<fs::path, std::string>;

// Parts take precedence over the run file, and so does a header beside it. Throws.
StoredTrials stored_trials(const RunFiles& files, std::vector<Result<Tables>> outlines,
                           Damaged& damaged) {
  StoredTrials run;
  std::set<int> replaced; // ids in the run file that a part replaces
  for (std::size_t i = 0; i < outlines.size(); ++i) {
    Result<Tables>& outline = outlines[i];
    const FileToRead& file = files.files[i];
    if (!outline) {
      if (file.kind == FileKind::trial)
        damaged.emplace(file.path, outline.error().message);
      continue;
    }
    if (file.kind != FileKind::trial) {
      model::RunHeader header = header_from(*outline);
      if (i > 0 && files.header_beside)
        base::value_or_throw(check_same_run(files.files[0].path, run.header, header));
      run.header = std::move(header);
    }
    if (file.kind == FileKind::header || damaged.contains(file.path))
      continue;
    run.sources.emplace_back(file.path, std::move(*outline));
    if (file.kind == FileKind::trial)
      replaced.insert(run.sources.back().ids.begin(), run.sources.back().ids.end());
  }
  for (std::size_t s = 0; s < run.sources.size(); ++s)
    for (std::size_t t = 0; t < run.sources[s].ids.size(); ++t) {
      const bool is_old = files.folded && s == 0;
      if (!is_old || !replaced.contains(run.sources[s].ids[t]))
        run.places.push_back({s, t, 0});
    }
  std::vector<Place*> by_id;
  for (Place& place : run.places)
    by_id.push_back(&place);
  std::ranges::stable_sort(
      by_id, {}, [&](const Place* place) { return run.sources[place->source].ids[place->trial]; });
  for (std::size_t i = 0; i < by_id.size(); ++i)
    by_id[i]->index = i;
  return run;
}

std::uint64_t row_count(const std::deque<Source>& sources) {
  std::uint64_t rows = 0;
  for (const Source& source : sources)
    for (const Table& table : source.tables.tables)
      rows += table.rows;
  return rows;
}

// Passes the trials to the sink. Trials that cannot be read are left out and reported by source.
class Reading {
public:
  Reading(StoredTrials& run, const TrialSink& sink) : run_(&run), sink_(&sink) {}

  // Throws what the sink throws.
  std::map<std::size_t, std::string> read_all() {
    const std::size_t threads =
        row_count(run_->sources) < k_rows_for_threads
            ? 1
            : std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, k_most_threads);
    std::vector<std::jthread> helpers;
    std::size_t started = 1; // counting this thread
    try {
      for (; started < threads; ++started)
        helpers.emplace_back([this, started, threads] { read_share(started, threads); });
    } catch (const std::system_error&) { // no more threads: this one does their share
    }
    read_share(0, threads);
    for (std::size_t share = started; share < threads; ++share)
      read_share(share, threads);
    helpers.clear(); // joins them
    if (thrown_)
      std::rethrow_exception(thrown_);
    return std::move(damaged_);
  }

private:
  // Takes consecutive trials, so few chunks are unpacked twice.
  void read_share(std::size_t share, std::size_t shares) {
    const std::size_t from = run_->places.size() * share / shares;
    const std::size_t to = run_->places.size() * (share + 1) / shares;
    try {
      std::optional<TrialReader> reader;
      const Source* open = nullptr;
      for (const Place& place : std::span(run_->places).subspan(from, to - from)) {
        if (stop_)
          return;
        if (is_damaged(place.source))
          continue;
        const Source& source = run_->sources[place.source];
        model::TrialRecord trial;
        bool thrown_there = false;
        try {
          if (open != &source)
            reader.emplace(source.tables, source.children);
          open = &source;
          trial = reader->read(place.trial, source.most_bytes, taker_of(place.index, thrown_there));
        } catch (const std::exception& error) {
          if (thrown_there)
            throw;
          open = nullptr;
          std::lock_guard lock(mutex_);
          damaged_.emplace(place.source, error.what());
          continue;
        }
        sink_->take(place.index, std::move(trial));
      }
    } catch (...) {
      std::lock_guard lock(mutex_);
      if (!thrown_)
        thrown_ = std::current_exception();
      stop_ = true;
    }
  }

  // What the sink throws is no damage.
  TrialReader::TakeCell taker_of(std::size_t index, bool& thrown_there) const {
    if (!sink_->take_cell)
      return {};
    return [this, index, &thrown_there](const model::TrialSpec& spec, std::size_t cell,
                                        model::CellRecord& record) {
      thrown_there = true;
      sink_->take_cell(index, spec, cell, record);
      thrown_there = false;
    };
  }

  bool is_damaged(std::size_t source) {
    std::lock_guard lock(mutex_);
    return damaged_.contains(source);
  }

  StoredTrials* run_;
  const TrialSink* sink_;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::map<std::size_t, std::string> damaged_; // by source
  std::exception_ptr thrown_;
};

// `damaged`: parts known to be damaged; newly found ones are added.
enum class Outcome { done, damage_found };
Result<Outcome> read_once(const fs::path& run_file, const TrialSink& sink, Damaged& damaged) {
  NCCLPROBE_TRY_ASSIGN(const RunFiles files, run_files(run_file));
  std::vector<Result<Tables>> outlines = read_outlines_guarded(files.files);
  if (!outlines[0] && files.header_beside && outlines[0].error().code == Errc::protocol)
    return fail(with_advice_of_name(std::move(outlines[0].error()), run_file));
  for (std::size_t i = 0; i <= files.parts; ++i)
    if (!outlines[i] && (i == 0 || outlines[i].error().code == Errc::unavailable))
      return fail(std::move(outlines[i].error())); // unavailable: it was not read
  auto is_damaged = [&](const fs::path& path, const std::string& why) {
    return fail(Errc::protocol, "{} is damaged: {}", path.string(), why);
  };
  StoredTrials run;
  try {
    run = stored_trials(files, std::move(outlines), damaged);
  } catch (const Exception& error) {
    if (error.error().code == Errc::invalid_argument) // files of two runs
      return fail(error.error());
    return is_damaged(run_file, error.what());
  } catch (const std::exception& error) {
    return is_damaged(run_file, error.what());
  }
  sink.begin(run.header, run.places.size());
  const auto found = Reading(run, sink).read_all();
  for (const auto& [source, why] : found) {
    const fs::path& path = run.sources[source].path;
    if (path == run_file)
      return is_damaged(path, why);
    damaged.emplace(path, fmt::format("{} is damaged: {}", path.string(), why));
  }
  return found.empty() ? Outcome::done : Outcome::damage_found;
}

} // namespace

Result<void> read_trials(const fs::path& run_file, const TrialSink& sink) {
  std::error_code ignored;
  bool folded_before = fs::exists(run_file, ignored);
  Damaged damaged;
  for (int attempt = 1;; ++attempt) {
    auto outcome = read_once(run_file, sink, damaged);
    // Its writer folded it while we were reading the parts, and is removing them.
    const bool just_folded = !std::exchange(folded_before, true) && fs::exists(run_file, ignored);
    if (!just_folded && !outcome)
      return fail(std::move(outcome.error()));
    if (attempt == k_most_attempts || (!just_folded && *outcome == Outcome::done))
      break;
  }
  for (const auto& [path, why] : damaged)
    if (fs::exists(path, ignored)) // otherwise its writer has just folded it
      spdlog::warn("{}: left out the damaged {}: {}", run_file.string(), path.filename().string(),
                   why);
  return {};
}

} // namespace ncclprobe::store

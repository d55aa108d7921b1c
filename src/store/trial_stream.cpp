// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/trial_stream.h"

#include "base/fd.h"
#include "base/log.h"
#include "store/model_rows.h"
#include "store/row_reader.h"
#include "store/run_parts.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <fcntl.h>
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

using base::Errc;
using base::raise;
using base::Result;
namespace fs = std::filesystem;

constexpr std::size_t k_slice_rows = 4096;
constexpr std::uint64_t k_rows_for_threads = 200'000; // fewer are read sooner by one
constexpr std::size_t k_most_threads = 4;
constexpr int k_most_attempts = 3;
constexpr std::uint64_t k_most_reserved = 1 << 16; // the file only says how many will come

// A file and what it holds but for the rows of its large tables.
struct Source {
  fs::path path;
  TableSource samples;
  TableSource conditions;
  TableSource marks;
  std::vector<model::TrialRecord> trials;
  std::vector<std::uint32_t> first_cell;    // of each trial, and where those of the last one end
  std::vector<std::uint64_t> sample_counts; // by cell
};

Source source_of(const fs::path& path, Outline outline) {
  Source source{.path = path,
                .samples = std::move(outline.samples),
                .conditions = std::move(outline.conditions),
                .marks = std::move(outline.marks),
                .trials = trials_from(outline.tables),
                .first_cell = {0},
                .sample_counts = {}};
  for (const CellRow& row : outline.tables.cells) {
    if (row.trial + 1 < source.first_cell.size())
      raise(Errc::failed, "/cells is not in the order of /trials");
    source.first_cell.resize(row.trial + 1,
                             static_cast<std::uint32_t>(source.sample_counts.size()));
    source.sample_counts.push_back(row.samples);
  }
  source.first_cell.resize(source.trials.size() + 1,
                           static_cast<std::uint32_t>(source.sample_counts.size()));
  return source;
}

// The rows of a large table, one trial's after the other's.
template <typename Row>
class RowsInOrder {
public:
  RowsInOrder(int fd, const TableSource& source, std::uint32_t first_cell)
      : reader_(fd, source), at_(first_row_of(first_cell)) {}

  // Calls take(row) for those that come before the ones of that cell.
  template <typename Take>
  void until(std::uint32_t end_cell, Take take) {
    for (;;) {
      if (next_ == slice_.size()) {
        const auto rows = std::min<std::uint64_t>(k_slice_rows, reader_.row_count() - at_);
        if (rows == 0)
          return;
        slice_ = reader_.rows(at_, rows);
        at_ += rows;
        next_ = 0;
      }
      const Row& row = slice_[next_];
      if (row.cell >= end_cell)
        return;
      if (row.cell < cell_)
        raise(Errc::failed, "rows are not in the order of /cells");
      cell_ = row.cell;
      ++next_;
      take(row);
    }
  }
  bool at_end() const { return next_ == slice_.size() && at_ == reader_.row_count(); }

private:
  std::uint64_t first_row_of(std::uint32_t cell) {
    std::uint64_t low = 0, high = cell == 0 ? 0 : reader_.row_count();
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      if (reader_.rows(middle, 1).front().cell < cell)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }

  RowReader<Row> reader_;
  std::uint64_t at_; // in the table, behind the slice
  std::vector<Row> slice_;
  std::size_t next_ = 0; // in the slice
  std::uint32_t cell_ = 0;
};

// Some trials of a source that follow one another.
class TrialReader {
public:
  TrialReader(Source& source, std::size_t first_trial)
      : source_(&source), fd_(::open(source.path.c_str(), O_RDONLY | O_CLOEXEC)),
        samples_(fd_.get(), source.samples, source.first_cell[first_trial]),
        conditions_(fd_.get(), source.conditions, source.first_cell[first_trial]),
        marks_(fd_.get(), source.marks, source.first_cell[first_trial]), next_(first_trial),
        most_rows_(limits_for(source.path, {}).memory_bytes / sizeof(model::Condition)) {}

  std::size_t next() const { return next_; }

  // The next trial, which is then no more in the source.
  model::TrialRecord take() {
    model::TrialRecord trial = std::move(source_->trials[next_]);
    const std::uint32_t first = source_->first_cell[next_];
    const std::uint32_t end = source_->first_cell[next_ + 1];
    ++next_;
    for (std::uint32_t cell = first; cell < end; ++cell)
      trial.cells[cell - first].samples.reserve(
          std::min(source_->sample_counts[cell], k_most_reserved));
    std::uint64_t rows = 0;
    auto cell_of = [&](const auto& row) -> std::size_t {
      if (row.cell < first)
        raise(Errc::failed, "rows are not in the order of /cells");
      if (++rows > most_rows_) // a small file that unpacks to no end
        raise(Errc::failed, "a trial asks for more memory than such a file may");
      return row.cell - first;
    };
    samples_.until(end, [&](const SampleRow& row) {
      const std::size_t c = cell_of(row);
      if (trial.cells[c].samples.size() == source_->sample_counts[row.cell])
        raise(Errc::failed, "cell {} has more samples than it says", row.cell);
      add_sample(trial.cells[c], row);
    });
    conditions_.until(
        end, [&](const ConditionRow& row) { add_condition(trial.cells[cell_of(row)], row); });
    marks_.until(end, [&](const MarkRow& row) {
      const std::size_t c = cell_of(row);
      add_mark(trial.cells[c], trial.spec.cells[c], row);
    });
    for (std::uint32_t cell = first; cell < end; ++cell)
      if (trial.cells[cell - first].samples.size() != source_->sample_counts[cell])
        raise(Errc::failed, "cell {} has {} samples instead of {}", cell,
              trial.cells[cell - first].samples.size(), source_->sample_counts[cell]);
    if (next_ == source_->trials.size() &&
        !(samples_.at_end() && conditions_.at_end() && marks_.at_end()))
      raise(Errc::failed, "rows point behind the last cell");
    return trial;
  }

private:
  Source* source_;
  base::Fd fd_;
  RowsInOrder<SampleRow> samples_;
  RowsInOrder<ConditionRow> conditions_;
  RowsInOrder<MarkRow> marks_;
  std::size_t next_;
  std::uint64_t most_rows_; // of a trial
};

// A trial in its source, and its place by id.
struct Place {
  std::size_t source;
  std::size_t trial;
  std::size_t index;
};

struct StoredTrials {
  model::RunHeader header;
  std::vector<Source> sources;
  std::vector<Place> places; // by source and trial
};

// Of parts that cannot be read, by path.
using Damaged = std::map<fs::path, std::string>;

// The parts count more than the run file, and so does a header beside it. Throws.
StoredTrials stored_trials(const RunFiles& files, std::vector<Result<Outline>> outlines,
                           Damaged& damaged) {
  StoredTrials run;
  std::set<int> replaced; // in the run file, by a part
  for (std::size_t i = 0; i < outlines.size(); ++i) {
    Result<Outline>& outline = outlines[i];
    const FileToRead& file = files.files[i];
    if (!outline) {
      if (file.kind == FileKind::trial)
        damaged.emplace(file.path, outline.error().message);
      continue;
    }
    if (file.kind != FileKind::trial)
      run.header = header_from(outline->tables);
    if (file.kind == FileKind::header || damaged.contains(file.path))
      continue;
    run.sources.push_back(source_of(file.path, std::move(*outline)));
    if (file.kind == FileKind::trial)
      for (const model::TrialRecord& trial : run.sources.back().trials)
        replaced.insert(trial.spec.id);
  }
  for (std::size_t s = 0; s < run.sources.size(); ++s)
    for (std::size_t t = 0; t < run.sources[s].trials.size(); ++t) {
      const bool is_old = files.folded && s == 0;
      if (!is_old || !replaced.contains(run.sources[s].trials[t].spec.id))
        run.places.push_back({s, t, 0});
    }
  std::vector<Place*> by_id;
  for (Place& place : run.places)
    by_id.push_back(&place);
  std::ranges::stable_sort(by_id, {}, [&](const Place* place) {
    return run.sources[place->source].trials[place->trial].spec.id;
  });
  for (std::size_t i = 0; i < by_id.size(); ++i)
    by_id[i]->index = i;
  return run;
}

std::uint64_t row_count(const std::vector<Source>& sources) {
  std::uint64_t rows = 0;
  for (const Source& source : sources)
    rows += source.samples.rows + source.conditions.rows + source.marks.rows;
  return rows;
}

// Hands the trials over. What cannot be read is left out, and told by source.
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
    std::size_t started = 1; // with this one
    try {
      for (; started < threads; ++started)
        helpers.emplace_back([this, started, threads] { read_share(started, threads); });
    } catch (const std::system_error&) { // no more threads are allowed: this one does their share
    }
    read_share(0, threads);
    for (std::size_t share = started; share < threads; ++share)
      read_share(share, threads);
    helpers.clear(); // waits for them
    if (thrown_)
      std::rethrow_exception(thrown_);
    return std::move(damaged_);
  }

private:
  // Trials that follow one another, so that hardly a chunk is unpacked twice.
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
        Source& source = run_->sources[place.source];
        model::TrialRecord trial;
        try {
          if (open != &source || !reader || reader->next() != place.trial)
            reader.emplace(source, place.trial);
          open = &source;
          trial = reader->take();
        } catch (const std::exception& error) {
          reader.reset();
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

// `damaged`: parts that were found to be so before; what is found now is added.
enum class Outcome { done, damage_found };
Result<Outcome> read_once(const fs::path& run_file, const TrialSink& sink, Damaged& damaged) {
  NCCLPROBE_TRY_ASSIGN(const RunFiles files, run_files(run_file));
  std::vector<Result<Outline>> outlines = read_outlines_guarded(files.files);
  for (std::size_t i = 0; i <= files.parts; ++i)
    if (!outlines[i] && (i == 0 || outlines[i].error().code == Errc::unavailable))
      return base::fail(std::move(outlines[i].error())); // unavailable: nobody looked at it
  auto is_damaged = [&](const fs::path& path, const std::string& why) {
    return base::fail(Errc::protocol, "{} is damaged: {}", path.string(), why);
  };
  StoredTrials run;
  try {
    run = stored_trials(files, std::move(outlines), damaged);
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
    // Folded by its writer while we were reading the parts, which are being removed.
    const bool just_folded = !std::exchange(folded_before, true) && fs::exists(run_file, ignored);
    if (!just_folded && !outcome)
      return base::fail(std::move(outcome.error()));
    if (attempt == k_most_attempts || (!just_folded && *outcome == Outcome::done))
      break;
  }
  for (const auto& [path, why] : damaged)
    if (fs::exists(path, ignored)) // else its writer has just folded it
      spdlog::warn("{}: left out the damaged {}: {}", run_file.string(), path.filename().string(),
                   why);
  return {};
}

} // namespace ncclprobe::store

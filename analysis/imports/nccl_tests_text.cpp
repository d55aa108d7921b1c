// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/imports/nccl_tests_text.h"

#include "analysis/imports/log_streams.h"
#include "analysis/imports/nccl_tests_rows.h"
#include "base/printable.h"
#include "base/split.h"
#include "base/text_files.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace ncclprobe::analysis::imports {
namespace {

using base::number_of;
using Words = std::vector<std::string_view>;

constexpr std::size_t k_most_text_ranks = 1'000'000;

// The words of "# size count ..." from the first that is no '#'.
Words words_after_hash(std::string_view line) {
  Words words = base::split(line, ' ');
  if (!words.empty() && words.front() == "#")
    words.erase(words.begin());
  return words;
}

// The word behind `key`.
std::optional<std::string_view> word_after(const Words& words, std::string_view key) {
  auto found = std::ranges::find(words, key);
  if (found == words.end() || found + 1 == words.end())
    return std::nullopt;
  return found[1];
}

std::optional<int> number_after(const Words& words, std::string_view key) {
  const auto word = word_after(words, key);
  return word ? number_of<int>(*word) : std::nullopt;
}

// "warmup iters: 5 iters: 20 agg iters: 1": the number behind these words.
std::optional<int> parameter(std::string_view line, std::string_view key) {
  for (std::size_t at = line.find(key); at != std::string_view::npos; at = line.find(key, at + 1)) {
    // "iters:" is also the end of "agg iters:" and "warmup iters:".
    const std::string_view before = line.substr(0, at);
    if (key == "iters:" && (before.ends_with("agg ") || before.ends_with("warmup ")))
      continue;
    const Words words = base::split(line.substr(at + key.size()), ' ');
    return words.empty() ? std::nullopt : number_of<int>(words.front());
  }
  return std::nullopt;
}

// Columns of the table, by their names.
struct Columns {
  std::vector<std::string> keys;                // size, count, type, redop, root
  std::vector<std::vector<std::string>> halves; // time, algbw, busbw, #wrong, ...
  bool cpu_time = false;

  static std::optional<Columns> of(const Words& words) {
    if (words.size() < 4 || words[0] != "size" || words[1] != "count")
      return std::nullopt;
    Columns columns;
    for (std::string_view word : words) {
      columns.cpu_time |= word == "cputime";
      if (word == "time" || word == "cputime")
        columns.halves.emplace_back();
      if (word == "timestamp")
        break;
      (columns.halves.empty() ? columns.keys : columns.halves.back()).emplace_back(word);
    }
    if (columns.halves.empty() || columns.halves.size() > 2)
      return std::nullopt;
    return columns;
  }
  // Of a log that lacks the line with their names: those of 2.13 and later.
  static Columns usual() {
    const std::vector<std::string> half{"time", "algbw", "busbw", "#wrong"};
    return {{"size", "count", "type", "redop", "root"}, {half, half}, false};
  }
};

// Reads one stream of lines.
class TextReader {
public:
  explicit TextReader(const ImportHints& hints) : hints_(hints) {}

  Result<void> read(const std::vector<LogLine>& lines) {
    for (const LogLine& line : lines)
      NCCLPROBE_TRY(take(line));
    return finish_launch();
  }
  ImportedProcesses& processes() { return processes_; }

private:
  enum class Stage { before, version, program, setup, ranks, table, summary };

  // A line of an earlier stage begins the next launch.
  Result<void> enter(Stage stage) {
    if (stage < stage_ || (stage == stage_ && stage != Stage::ranks && stage != Stage::summary))
      NCCLPROBE_TRY(finish_launch());
    stage_ = stage;
    return {};
  }

  Result<void> take(const LogLine& line) {
    const std::string_view text = line.text;
    const std::size_t first = text.find_first_not_of(' ');
    if (first == std::string_view::npos)
      return {};
    if (text[first] == '#')
      return take_comment(text.substr(first));
    if (text.substr(first).starts_with("NCCL version ")) {
      take_nccl_version(text.substr(first));
      return {};
    }
    if (text[first] >= '0' && text[first] <= '9')
      take_row(line);
    else
      take_other(text);
    return {};
  }

  Result<void> take_comment(std::string_view text) {
    const Words words = words_after_hash(text);
    if (words.empty())
      return {};
    if (text.starts_with("# nccl-tests version ")) {
      NCCLPROBE_TRY(enter(Stage::version));
      process_.version = base::printable(words.size() > 2 ? words[2] : std::string_view());
      for (std::string_view word : words)
        if (word.starts_with("nccl-library="))
          if (auto code = number_of<int>(word.substr(word.find('=') + 1)))
            set_nccl(nccl_version_of_code(*code));
    } else if (text.starts_with("# Collective test starting: ")) {
      NCCLPROBE_TRY(enter(Stage::program));
      named_ = collective_of_program(words.back());
    } else if (text.starts_with("# nThread ")) {
      NCCLPROBE_TRY(enter(Stage::setup));
      take_setup(text);
    } else if (words.front() == "Rank") {
      NCCLPROBE_TRY(enter(Stage::ranks));
      take_rank(text, words);
    } else if (text.starts_with("# Blocking Enabled")) {
      setup_.blocking = true;
    } else if (text.starts_with("# Reducing maxBytes")) {
      process_.remarks.push_back("nccl-tests reduced the largest size, for lack of memory.");
    } else if (auto columns = Columns::of(words)) {
      NCCLPROBE_TRY(enter(Stage::table));
      columns_ = std::move(columns);
      setup_.cpu_time = columns_->cpu_time;
    } else if (text.starts_with("# Avg bus bandwidth") || text.starts_with("# Out of bounds")) {
      stage_ = Stage::summary;
      is_complete_ |= text.starts_with("# Avg");
      if (text.starts_with("# Out of bounds"))
        out_of_bounds_ = number_after(words, ":").value_or(0);
    } else if (text.starts_with("# error: ")) {
      fail_with(text.substr(9));
    }
    return {};
  }

  void take_setup(std::string_view text) {
    setup_.iterations = parameter(text, "iters:");
    setup_.warmups = parameter(text, "warmup iters:").value_or(0);
    setup_.operations_per_iteration = parameter(text, "agg iters:").value_or(1);
    setup_.graph_launches = parameter(text, "graph:").value_or(0);
    setup_.checks = parameter(text, "validation:");
    setup_.unaligned_elements =
        static_cast<std::uint64_t>(std::max(parameter(text, "unalign:").value_or(0), 0));
  }

  // "#  Rank  0 Group  0 Pid   5950 on     ai-n66 device  0 [0x34] NVIDIA H800". Before 2.13
  // without the group, from 2.17 with [0000:34:00].
  void take_rank(std::string_view text, const Words& words) {
    const auto rank = number_after(words, "Rank");
    const auto device = number_after(words, "device");
    if (!rank || !device || process_.ranks.size() >= k_most_text_ranks)
      return;
    ImportedRank one{.rank = *rank,
                     .hostname = base::printable(word_after(words, "on").value_or("")),
                     .pid = number_after(words, "Pid").value_or(0),
                     .device = *device,
                     .group = number_after(words, "Group").value_or(0)};
    const std::size_t open = text.find('['), close = text.find(']');
    if (open < close && close != std::string_view::npos) {
      std::string_view address = text.substr(open + 1, close - open - 1);
      one.pci_bus_id =
          base::printable(address.starts_with("0x") ? fmt::format("0000:{}:00.0", address.substr(2))
                                                    : fmt::format("{}.0", address));
      const std::size_t name = text.find_first_not_of(' ', close + 1);
      if (name != std::string_view::npos)
        one.gpu = base::printable(text.substr(name));
      while (one.gpu.ends_with(' '))
        one.gpu.pop_back();
    }
    process_.ranks.push_back(std::move(one));
  }

  // "NCCL version 2.19.4+cuda12.2"
  void take_nccl_version(std::string_view text) {
    const Words words = base::split(text, ' ');
    const std::string_view version = words.back();
    set_nccl(base::printable(version.substr(0, version.find('+'))));
  }
  void set_nccl(std::string version) {
    if (process_.libraries.empty())
      process_.libraries.push_back({.name = "nccl", .version = std::move(version)});
  }

  // Command lines of a job's script, and failures.
  void take_other(std::string_view text) {
    if (text.find("Test NCCL failure") != std::string_view::npos ||
        text.find("Test CUDA failure") != std::string_view::npos ||
        text.find("Test timeout") != std::string_view::npos)
      fail_with(text);
    if (stage_ == Stage::before || stage_ == Stage::summary)
      for (std::string_view word : base::split(text, ' '))
        if (auto collective = collective_of_program(word))
          from_command_ = collective;
  }
  void fail_with(std::string_view text) {
    if (process_.outcome.ok())
      process_.outcome = {model::OutcomeKind::failed, base::printable(text), {}};
  }

  void take_row(const LogLine& line) {
    const Words words = base::split(line.text, ' ');
    const Columns columns = columns_.value_or(Columns::usual());
    // Other programs print numbers too. A row has a size, a count and a type.
    if (words.size() < columns.keys.size() || !number_of<std::uint64_t>(words[0]) ||
        !number_of<std::uint64_t>(words[1]) || words[2].front() < 'a' || words[2].front() > 'z')
      return;
    stage_ = std::max(stage_, Stage::table);
    NcclTestsRow row{.bytes = *number_of<std::uint64_t>(words[0])};
    const auto type = nccl_tests_type(words[2]);
    if (!type)
      return omitted_.add(line.number, fmt::format("'{}' is no known type", words[2]));
    row.type = *type;
    for (std::size_t i = 3; i < columns.keys.size(); ++i)
      (columns.keys[i] == "redop" ? row.op : row.root) = words[i];
    std::size_t at = columns.keys.size();
    std::vector<NcclTestsRow> found;
    for (std::size_t half = 0; half < columns.halves.size(); ++half) {
      const std::size_t width = columns.halves[half].size();
      // nccl-tests leaves the first half blank where it measured only in place.
      if (half == 0 && columns.halves.size() == 2 && at < words.size() &&
          words[at].data() - (words[at - 1].data() + words[at - 1].size()) > 30)
        continue;
      const bool may_lack_digits =
          !line.is_whole && at + width == words.size() && !line.text.ends_with(' ');
      if (at + width > words.size() || may_lack_digits)
        break; // cut off
      row.placement = half == 0 ? model::Placement::out_of_place : model::Placement::in_place;
      if (!take_half(columns.halves[half],
                     Words(words.begin() + static_cast<std::ptrdiff_t>(at), words.end()), row))
        return omitted_.add(line.number, "its times and bandwidths are not all numbers");
      found.push_back(row);
      at += width;
    }
    if (found.size() < columns.halves.size() && at < words.size())
      omitted_.add(line.number, "its end is missing");
    rows_.insert(rows_.end(), found.begin(), found.end());
  }

  static bool take_half(const std::vector<std::string>& names, const Words& words,
                        NcclTestsRow& row) {
    row.wrong.reset();
    row.why_unchecked = "nccl-tests did not check the data (-c 0)";
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto value = number_of<double>(words[i]);
      const std::string& name = names[i];
      if (name == "time" || name == "busbw") {
        if (!value || !std::isfinite(*value) || *value < 0)
          return false;
        (name == "time" ? row.time_us : row.busbw_gb_per_s) = *value;
      } else if (name == "#wrong" && words[i] != "N/A") {
        if (!value || !(*value >= 0 && *value < 1e18))
          return false;
        row.wrong = static_cast<std::uint64_t>(*value);
      } else if (name == "error" && words[i] != "N/A") { // before 2.13: the largest difference
        if (!value)
          return false;
        if (*value == 0)
          row.wrong = 0;
        else
          row.why_unchecked = fmt::format(
              "nccl-tests before 2.13 prints the largest error, {}, not how many elements are "
              "wrong",
              words[i]);
      }
    }
    return true;
  }

  Result<void> finish_launch() {
    ImportedProcess process = std::exchange(process_, {});
    const std::vector<NcclTestsRow> rows = std::exchange(rows_, {});
    const NcclTestsSetup setup = std::exchange(setup_, {});
    const auto named = hints_.collective ? hints_.collective : named_ ? named_ : from_command_;
    const bool is_complete = std::exchange(is_complete_, false);
    const int out_of_bounds = std::exchange(out_of_bounds_, 0);
    const Omissions omitted = std::exchange(omitted_, {});
    named_.reset();
    from_command_.reset();
    columns_.reset();
    stage_ = Stage::before;
    if (rows.empty())
      return {};
    NCCLPROBE_TRY(check_ranks(process, hints_));
    NCCLPROBE_TRY(add_rows(process, rows, setup, named));
    omitted.tell(process.remarks);
    if (!is_complete)
      process.remarks.push_back(
          "The log ends before nccl-tests' summary, so sizes may be missing.");
    const bool rows_tell = std::ranges::any_of(
        process.cells, [](const ImportedCell& one) { return one.record.check.wrong > 0; });
    if (out_of_bounds > 0 && !rows_tell)
      process.remarks.push_back(
          fmt::format("nccl-tests' summary says that {} values are out of bounds.", out_of_bounds));
    processes_.push_back(std::move(process));
    return {};
  }

  const ImportHints& hints_;
  ImportedProcesses processes_;

  // Of the launch that is being read.
  Stage stage_ = Stage::before;
  ImportedProcess process_;
  NcclTestsSetup setup_;
  std::optional<Columns> columns_;
  std::vector<NcclTestsRow> rows_;
  std::optional<model::Collective> named_, from_command_;
  Omissions omitted_;
  bool is_complete_ = false;
  int out_of_bounds_ = 0;
};

} // namespace

bool is_nccl_tests_text(std::string_view text) {
  return text.find("# nThread ") != std::string_view::npos ||
         text.find("Avg bus bandwidth") != std::string_view::npos ||
         (text.find("algbw") != std::string_view::npos &&
          text.find("busbw") != std::string_view::npos);
}

Result<ImportedProcesses> read_nccl_tests_text(std::string_view text, const ImportHints& hints) {
  NCCLPROBE_TRY_ASSIGN(const auto streams, log_streams(text));
  ImportedProcesses all;
  std::size_t without_mpi = 0;
  for (const auto& lines : streams) {
    TextReader reader(hints);
    NCCLPROBE_TRY(reader.read(lines));
    ImportedProcesses& found = reader.processes();
    without_mpi += std::ranges::any_of(
        found, [](const ImportedProcess& one) { return one.ranks.size() == 1; });
    std::ranges::move(found, std::back_inserter(all));
  }
  if (all.empty())
    return fail({Errc::invalid_argument, "there is no row of nccl-tests' table",
                 "it begins with size, count and type, such as \"8  2  float\""});
  if (without_mpi > 1)
    return fail({Errc::invalid_argument,
                 fmt::format("{} processes measured one rank each: nccl-tests was built without "
                             "MPI and started under mpirun",
                             without_mpi),
                 "build it with MPI=1"});
  return all;
}

} // namespace ncclprobe::analysis::imports

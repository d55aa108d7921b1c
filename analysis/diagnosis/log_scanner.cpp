// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/diagnosis/log_scanner.h"

#include "analysis/diagnosis/rank_disagreement.h"
#include "analysis/proof/nccl_log.h"
#include "base/printable.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace ncclprobe::analysis {
namespace {

// A longer line is examined in pieces.
constexpr std::size_t k_longest_tail = 256 * 1024;
// Of a long line, the text around the word that was found.
constexpr std::size_t k_around = 2048;
constexpr std::size_t k_most_processes = 65536;
constexpr std::uint64_t k_tried_bytes = 64 * 1024;
constexpr std::size_t k_most_connections = 65536;
constexpr std::size_t k_most_unknown = 200;
// After this many occurrences a line's meaning is known; examining further lines would only cost
// time.
constexpr std::uint64_t k_most_lines = 20000;
constexpr std::size_t k_most_memories = 4096;
// How many lines after "Root Cause" torchrun names the rank.
constexpr std::uint64_t k_launcher_lines = 12;

template <typename Number>
std::optional<Number> number_behind(std::string_view text, std::string_view mark) {
  std::size_t at = text.find(mark);
  if (at == std::string_view::npos)
    return std::nullopt;
  text.remove_prefix(at + mark.size());
  Number value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} ? std::optional(value) : std::nullopt;
}

// The line around a position, or a part of a long one. "\r" of progress bars also separates lines,
// but is not counted.
std::string_view part_around(std::string_view line, std::size_t at) {
  std::size_t begin = line.substr(0, at).rfind('\r');
  begin = begin == std::string_view::npos ? 0 : begin + 1;
  std::size_t end = std::min(line.find('\r', at), line.size());
  if (at - begin > k_around)
    begin = at - k_around;
  end = std::min(end, at + k_around);
  return line.substr(begin, end - begin);
}

std::string_view without_hole(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of('\0'), text.size()));
}

// Empty if the text does not have both.
std::string_view text_between(std::string_view text, std::string_view begin, std::string_view end) {
  std::size_t at = text.find(begin);
  if (at == std::string_view::npos)
    return {};
  text.remove_prefix(at + begin.size());
  std::size_t close = text.find(end);
  return close == std::string_view::npos ? std::string_view{} : text.substr(0, close);
}

// The text with normalised numbers and addresses, so repetitions are found.
std::string shape_of(std::string_view text) {
  std::string shape;
  for (char c : text.substr(0, 160)) {
    bool digit = std::isdigit(static_cast<unsigned char>(c));
    if (!digit)
      shape += c;
    else if (shape.empty() || shape.back() != '0')
      shape += '0';
  }
  return shape;
}

} // namespace

LogScanner::LogScanner(const LogPatterns& patterns) : patterns_(patterns), kinds_(patterns) {}

void LogScanner::feed(std::string_view piece) {
  findings_.bytes += piece.size();
  try_as_text(piece);
  document_signs_.feed(piece);
  if (!tail_.empty()) {
    std::size_t end = piece.find('\n');
    std::string_view rest = piece.substr(0, end == std::string_view::npos ? piece.size() : end + 1);
    tail_ += rest;
    piece.remove_prefix(rest.size());
    if (end == std::string_view::npos && tail_.size() < k_longest_tail)
      return;
    std::string line = std::move(tail_);
    tail_.clear();
    scan(line);
  }
  std::size_t last = piece.rfind('\n');
  if (last != std::string_view::npos) {
    scan(piece.substr(0, last + 1));
    piece.remove_prefix(last + 1);
  }
  while (piece.size() >= k_longest_tail) {
    scan(piece.substr(0, k_longest_tail));
    piece.remove_prefix(k_longest_tail);
  }
  tail_ += piece;
}

void LogScanner::try_as_text(std::string_view piece) {
  // A log that was truncated while it was written to begins with a hole.
  if (findings_.bytes_tried == 0)
    piece = without_hole(piece);
  piece = piece.substr(0, k_tried_bytes - findings_.bytes_tried);
  findings_.bytes_tried += piece.size();
  for (char c : piece) {
    bool control = static_cast<unsigned char>(c) < 0x20;
    findings_.bytes_no_text +=
        control && std::string_view("\n\r\t\b\f\x1b").find(c) == std::string_view::npos;
  }
}

LogFindings LogScanner::finish() {
  bool unfinished = !tail_.empty();
  std::string line = std::move(tail_);
  tail_.clear();
  scan(line);
  note_driver_event();
  findings_.lines = lines_before_ + unfinished;
  kinds_.finish(findings_);
  find_disagreement(patterns_, findings_);
  findings_.document = document_signs_.finish();
  return std::move(findings_);
}

void LogScanner::scan(std::string_view text) {
  std::size_t counted = 0; // line breaks before this position are in lines_before_
  std::size_t at = 0;
  auto count_to = [&](std::size_t end) {
    lines_before_ += static_cast<std::uint64_t>(
        std::count(text.begin() + static_cast<std::ptrdiff_t>(counted),
                   text.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
    counted = end;
  };
  while (at < text.size()) {
    std::size_t hit = patterns_.find_candidate(text.substr(at));
    if (hit == std::string_view::npos)
      break;
    hit += at - 1; // the last character of the word
    std::size_t begin = text.substr(0, hit).rfind('\n');
    begin = std::max(at, begin == std::string_view::npos ? 0 : begin + 1);
    std::size_t end = std::min(text.find('\n', hit), text.size());
    count_to(begin);
    std::string_view part = part_around(text.substr(begin, end - begin), hit - begin);
    look_at(part, lines_before_ + 1);
    // The rest of a long line may contain more.
    std::size_t looked_to = static_cast<std::size_t>(part.data() - text.data()) + part.size();
    at = looked_to >= end ? std::min(end + 1, text.size()) : std::max(looked_to, hit + 1);
  }
  count_to(text.size());
}

void LogScanner::look_at(std::string_view raw, std::uint64_t number) {
  if (raw.ends_with('\r'))
    raw.remove_suffix(1);
  raw = without_hole(raw);
  std::string clean;
  if (raw.find('\x1b') != std::string_view::npos) {
    clean = base::printable(raw);
    raw = clean;
  }
  LogLine line = read_log_line(raw);
  if (!line.rank && !line.process.empty())
    if (auto known = rank_of_process_.find(line.process); known != rank_of_process_.end())
      line.rank = known->second;
  // PyTorch also gives the rank within the text.
  if (!line.rank)
    line.rank = number_behind<int>(line.body, "[Rank ");
  if (driver_event_.is_over(line, number))
    note_driver_event();
  if (!driver_event_.keep(line, number))
    note(line, number);
}

void LogScanner::note_driver_event() {
  if (auto event = driver_event_.take()) {
    event->place.body = event->text;
    note(event->place, event->number);
  }
}

void LogScanner::note(const LogLine& line, std::uint64_t number) {
  Memory judged = judge(line.body);
  if (judged.verdict.tells_place) {
    note_place(line, number);
    note_timed_out_work(line, number);
    note_version(line, number);
    note_connection(line, number);
  }
  kinds_.note(judged.verdict, line, number, judged.lines < k_most_lines);
  if (judged.verdict.signs.empty() && judged.verdict.suspicious)
    note_unknown(line, number);
}

LogScanner::Memory LogScanner::judge(std::string_view body) {
  std::vector<int> words = patterns_.words_in(body);
  std::string key(reinterpret_cast<const char*>(words.data()), words.size() * sizeof(int));
  auto known = memory_.find(key);
  if (known == memory_.end()) {
    if (memory_.size() >= k_most_memories)
      return {patterns_.judge(body, words), 0};
    known = memory_.emplace(std::move(key), Memory{}).first;
  }
  Memory& memory = known->second;
  if (memory.lines < k_most_lines) {
    memory.verdict = patterns_.judge(body, words);
    ++memory.lines;
  }
  return memory;
}

void LogScanner::note_place(const LogLine& line, std::uint64_t number) {
  findings_.nccl_tells =
      findings_.nccl_tells || line.body.find("NCCL INFO ") != std::string_view::npos;
  auto ranks = number_behind<int>(line.body, " nranks ");
  auto rank = number_behind<int>(line.body, " rank ");
  if (ranks && rank) {
    findings_.world_size = std::max(findings_.world_size, *ranks);
    if (!line.process.empty() && rank_of_process_.size() < k_most_processes)
      // The first communicator is the world's; later ones number their ranks anew.
      rank_of_process_.emplace(line.process, *rank);
    note_communicator(line);
  }
  findings_.nodes =
      std::max(findings_.nodes, number_behind<int>(line.body, " nNodes ").value_or(0));
  auto enqueued = number_behind<std::uint64_t>(line.body, "last enqueued NCCL work: ");
  if (!enqueued)
    enqueued = number_behind<std::uint64_t>(line.body, "last enqueued work: ");
  if (enqueued && line.rank && findings_.progress.size() < k_most_ranks)
    findings_.progress.try_emplace(*line.rank, RankProgress{*enqueued, evidence_of(line, number)});
  if (line.body.find("Root Cause (first observed failure)") != std::string_view::npos)
    launcher_verdict_line_ = number;
  bool just_named =
      launcher_verdict_line_ > 0 && number - launcher_verdict_line_ <= k_launcher_lines;
  if (!just_named || !line.body.starts_with("rank"))
    return;
  if (auto named = number_behind<int>(line.body, ": ")) {
    if (findings_.named_by_launcher.size() < k_most_ranks)
      findings_.named_by_launcher.emplace(*named, evidence_of(line, number));
    launcher_verdict_line_ = 0;
  }
}

// "... commId 0x9f3c - Init START" has the same number on all ranks. Some lines of split
// communicators have no number.
void LogScanner::note_communicator(const LogLine& line) {
  constexpr std::string_view k_id = " commId ";
  std::size_t at = line.body.find(k_id);
  if (line.body.find(" parent ") != std::string_view::npos)
    several_communicators_ = true;
  if (at != std::string_view::npos) {
    std::string_view id = line.body.substr(at + k_id.size());
    id = id.substr(0, id.find(' '));
    if (communicator_.empty())
      communicator_ = id;
    several_communicators_ = several_communicators_ || id != communicator_;
  }
  findings_.one_communicator = !communicator_.empty() && !several_communicators_;
}

void LogScanner::note_connection(const LogLine& line, std::uint64_t number) {
  std::string_view words = line.body;
  constexpr std::string_view k_info = "NCCL INFO ";
  if (std::size_t at = words.find(k_info); at != std::string_view::npos)
    words.remove_prefix(at + k_info.size());
  auto read = read_connection(words);
  if (!read || read->is_direct())
    return;
  auto& all = findings_.indirect_connections;
  auto known = all.find({read->from_rank, read->to_rank});
  if (known == all.end() && all.size() >= k_most_connections)
    return;
  if (known == all.end())
    known = all.emplace(std::pair(read->from_rank, read->to_rank),
                        LogConnection{read->transport, {}, {}, number})
                .first;
  (read->receiver ? known->second.receiving_host : known->second.sending_host) = line.host;
}

// "[PG ID 0 PG GUID 0(default_pg) Rank 3] Watchdog caught collective operation timeout:
// WorkNCCL(SeqNum=1580, OpType=ALLREDUCE, NumelIn=4096, NumelOut=4096, Timeout(ms)=600000) ran for"
void LogScanner::note_timed_out_work(const LogLine& line, std::uint64_t number) {
  std::string_view what = text_between(line.body, "WorkNCCL(", ", Timeout(");
  if (what.empty() || !line.rank || findings_.timed_out.size() >= k_most_ranks)
    return;
  std::string_view group = text_between(line.body, "PG GUID ", " Rank ");
  findings_.timed_out.try_emplace(
      *line.rank, TimedOutWork{std::string(group), std::string(what), evidence_of(line, number)});
}

// "NCCL version 2.28.9+cuda13.0"
void LogScanner::note_version(const LogLine& line, std::uint64_t number) {
  constexpr std::string_view k_mark = "NCCL version ";
  constexpr std::size_t k_most_versions = 16;
  std::size_t at = line.body.find(k_mark);
  if (at == std::string_view::npos || findings_.nccl_versions.size() >= k_most_versions)
    return;
  std::string_view version = line.body.substr(at + k_mark.size());
  version = version.substr(0, version.find_first_not_of("0123456789."));
  if (std::ranges::count(version, '.') == 2)
    findings_.nccl_versions.try_emplace(std::string(version), evidence_of(line, number));
}

void LogScanner::note_unknown(const LogLine& line, std::uint64_t number) {
  ++findings_.unknown_lines;
  if (findings_.unknown_lines > k_most_lines)
    return;
  std::string shape = shape_of(line.body);
  auto known = unknown_by_shape_.find(shape);
  if (known != unknown_by_shape_.end()) {
    ++findings_.unknown[known->second].lines;
    return;
  }
  if (findings_.unknown.size() >= k_most_unknown)
    return;
  unknown_by_shape_.emplace(std::move(shape), findings_.unknown.size());
  findings_.unknown.push_back({evidence_of(line, number), 1});
}

} // namespace ncclprobe::analysis

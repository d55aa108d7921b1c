// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/job/step_sequence.h"

#include "analysis/job/communicators.h"
#include "analysis/job/repeated_units.h"
#include "analysis/statistics/statistics.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

namespace ncclprobe::analysis::job {
namespace {

constexpr std::size_t k_most_kinds = 64;
constexpr std::size_t k_most_passes = 16; // over the whole sequence, to find further kinds
constexpr std::size_t k_most_sampled = 128;
constexpr std::size_t k_least_part = 10; // one in this many operations of the most frequent kind

// When a long pattern counts as repeats of a shorter one with something in between, such as a
// logged loss or an evaluation: if no more than this share of its bytes, operations and time is
// other than the shorter one, all of it on the shorter one's communicators and without gradients:
// equal buckets between a first and a last one of other sizes are no steps. The pause around that
// is at most this many times as long as the shorter pattern. If that is a single operation, such
// as one of many equal buckets, only a short pause will do: the forward pass makes a longer one.
constexpr double k_most_other = 0.2;
constexpr double k_longest_pause = 20;
constexpr double k_longest_pause_of_one = 3;

// What all operations of one signature have in common.
struct Signature {
  double bytes = 0; // of the first
  std::uint16_t communicator = 0;
  bool may_be_gradients = false;
};

// Operations that may lie between two steps, or within one, without being part of the pattern.
std::size_t most_extra(std::size_t pattern) {
  return std::max<std::size_t>(2, pattern / 8);
}

using Counts = std::unordered_map<std::uint32_t, std::size_t>; // by symbol

// A candidate: a unit and where it is.
struct Pattern {
  std::vector<std::uint32_t> symbols;
  std::vector<std::size_t> places; // in the part that is searched; they do not overlap
  double length_ns = 0;            // median time from one to the next; 0: unknown
  std::vector<double> pauses_ns;   // median before each of its operations
  std::size_t covered() const { return places.size() * symbols.size(); }
  double longest_pause_ns() const { return *std::ranges::max_element(pauses_ns); }
};

std::vector<std::size_t> apart(const std::vector<std::size_t>& matches, std::size_t length) {
  std::vector<std::size_t> out;
  for (std::size_t at : matches)
    if (out.empty() || at >= out.back() + length)
      out.push_back(at);
  return out;
}

class StepFinder {
public:
  explicit StepFinder(std::span<const JobOperation> operations) : operations_(operations) {
    std::unordered_map<std::uint64_t, std::uint32_t> numbers;
    for (const JobOperation& one : operations) {
      const auto [number, is_new] =
          numbers.try_emplace(one.signature, static_cast<std::uint32_t>(signatures_.size()));
      if (is_new)
        signatures_.push_back({static_cast<double>(one.bytes), one.communicator,
                               one.reduces && one.bytes > k_control_bytes});
      all_.push_back(number->second);
    }
  }

  std::vector<SequenceStep> find() {
    left_.resize(all_.size());
    std::iota(left_.begin(), left_.end(), std::size_t{0});
    std::size_t looked_at = 0;
    for (std::uint32_t kind = 0; kind < k_most_kinds; ++kind) {
      looked_at += left_.size();
      if (left_.size() < k_fewest_steps || looked_at > k_most_passes * all_.size())
        break;
      part_.clear();
      for (std::size_t at : left_)
        part_.push_back(all_[at]);
      auto pattern = choose();
      if (!pattern)
        break;
      begin_after_pause(*pattern);
      mark(pattern->symbols, kind);
    }
    return in_batches();
  }

private:
  std::optional<Pattern> choose() const {
    std::vector<Pattern> candidates;
    auto add = [&](Symbols symbols) {
      if (auto one = pattern_of(symbols))
        candidates.push_back(std::move(*one));
    };
    for (const Unit& unit : repeated_units(part_)) {
      const auto symbols = Symbols(part_).subspan(unit.first, unit.length);
      add(symbols);
      for (std::uint32_t symbol : std::set(symbols.begin(), symbols.end()))
        if (signatures_[symbol].bytes <= static_cast<double>(k_control_bytes))
          add(repeated_without(symbol, symbols));
    }
    if (candidates.empty())
      return std::nullopt;
    std::size_t most = 0;
    for (const Pattern& one : candidates)
      most = std::max(most, one.covered());
    std::erase_if(candidates, [&](const Pattern& one) { return 2 * one.covered() < most; });
    std::ranges::stable_sort(candidates, std::ranges::greater{},
                             [](const Pattern& one) { return one.symbols.size(); });
    std::size_t chosen = 0;
    for (std::size_t i = 1; i < candidates.size(); ++i)
      if (is_repeated_in(candidates[i], candidates[chosen]))
        chosen = i;
    return std::move(candidates[chosen]);
  }

  // What the others repeat, from the small operation on; nothing if they repeat nothing. A loss may
  // be logged so often that a step never follows another two times without it.
  static std::vector<std::uint32_t> repeated_without(std::uint32_t small, Symbols symbols) {
    const auto at = std::ranges::find(symbols, small) - symbols.begin();
    std::vector<std::uint32_t> others(symbols.begin() + at, symbols.end());
    others.insert(others.end(), symbols.begin(), symbols.begin() + at);
    std::erase(others, small);
    const std::size_t period = others.empty() ? 0 : period_of(others);
    if (period == 0 || period == others.size() || others.size() % period != 0)
      return {};
    others.resize(period);
    return others;
  }

  std::optional<Pattern> pattern_of(Symbols symbols) const {
    Pattern one{{symbols.begin(), symbols.end()}, {}, 0, {}};
    const std::size_t length = symbols.size();
    one.places = apart(matches_of(symbols, part_), length);
    if (one.places.size() < k_fewest_steps)
      return std::nullopt;
    std::vector<double> lengths_ns;
    std::vector<std::vector<double>> pauses_ns(length);
    const std::size_t every = 1 + one.places.size() / k_most_sampled;
    for (std::size_t i = 0; i + 1 < one.places.size(); i += every) {
      const std::size_t at = one.places[i];
      if (one.places[i + 1] != at + length || !is_whole(at, length + 1))
        continue;
      lengths_ns.push_back(static_cast<double>(operations_[left_[at + length]].begin_ns -
                                               operations_[left_[at]].begin_ns));
      for (std::size_t k = 0; k < length; ++k) // the first one's pause: the next place's
        pauses_ns[k].push_back(
            static_cast<double>(operations_[left_[at + (k == 0 ? length : k)]].pause_ns));
    }
    if (lengths_ns.empty())
      return std::nullopt;
    one.length_ns = median(std::move(lengths_ns));
    for (std::vector<double>& pauses : pauses_ns)
      one.pauses_ns.push_back(median(std::move(pauses)));
    return one;
  }

  // Nothing was taken out in between.
  bool is_whole(std::size_t at, std::size_t length) const {
    return left_[at + length - 1] - left_[at] == length - 1;
  }

  // Whether the longer one is repeats of the shorter one, with little in between.
  bool is_repeated_in(const Pattern& shorter, const Pattern& longer) const {
    Counts in_shorter, rest;
    for (std::uint32_t symbol : shorter.symbols)
      ++in_shorter[symbol];
    for (std::uint32_t symbol : longer.symbols)
      ++rest[symbol];
    std::size_t repeats = longer.symbols.size();
    for (const auto& [symbol, times] : in_shorter) {
      const auto found = rest.find(symbol);
      repeats = std::min(repeats, found == rest.end() ? 0 : found->second / times);
    }
    if (repeats < 2)
      return false;
    std::vector<std::uint32_t> twice = longer.symbols; // the longer one may begin anywhere
    twice.insert(twice.end(), longer.symbols.begin(), longer.symbols.end());
    if (apart(matches_of(shorter.symbols, twice), shorter.symbols.size()).size() < 2)
      return false;
    for (const auto& [symbol, times] : in_shorter)
      rest[symbol] -= repeats * times;
    return is_little(rest, longer, in_shorter) &&
           longer.length_ns - static_cast<double>(repeats) * shorter.length_ns <=
               k_most_other * longer.length_ns &&
           longer.longest_pause_ns() <=
               shorter.length_ns *
                   (in_shorter.size() == 1 ? k_longest_pause_of_one : k_longest_pause);
  }

  bool is_little(const Counts& rest, const Pattern& of, const Counts& beside) const {
    std::set<std::uint16_t> communicators;
    for (const auto& [symbol, times] : beside)
      communicators.insert(signatures_[symbol].communicator);
    double operations = 0, bytes = 0, all_bytes = 0;
    for (std::uint32_t symbol : of.symbols)
      all_bytes += signatures_[symbol].bytes;
    for (const auto& [symbol, times] : rest) {
      const Signature& one = signatures_[symbol];
      if (times > 0 && (one.may_be_gradients || !communicators.contains(one.communicator)))
        return false;
      operations += static_cast<double>(times);
      bytes += static_cast<double>(times) * signatures_[symbol].bytes;
    }
    return operations <= k_most_other * static_cast<double>(of.symbols.size()) &&
           bytes <= k_most_other * all_bytes;
  }

  void begin_after_pause(Pattern& pattern) const {
    const auto longest = std::ranges::max_element(pattern.pauses_ns) - pattern.pauses_ns.begin();
    std::ranges::rotate(pattern.symbols, pattern.symbols.begin() + longest);
  }

  // Makes all its repeats steps, and takes them and what lies between them from what is left.
  void mark(const std::vector<std::uint32_t>& pattern, std::uint32_t kind) {
    std::vector<bool> begins(part_.size());
    for (std::size_t at : matches_of(pattern, part_))
      begins[at] = is_whole(at, pattern.size());
    const std::size_t most = most_extra(pattern.size());
    std::optional<std::size_t> free; // after the previous step
    std::vector<std::size_t> still_left;
    for (std::size_t at = 0; at < part_.size();) {
      std::size_t size = 0;
      if (begins[at])
        size = pattern.size();
      else if (free && at - *free <= most)
        size = with_extra(pattern, at);
      if (size == 0) {
        still_left.push_back(left_[at++]);
        continue;
      }
      if (free && left_[at] - left_[*free - 1] <= most + 1) // the few in between stay there
        still_left.resize(still_left.size() - (at - *free));
      steps_.push_back({left_[at], size, kind, 0});
      at += size;
      free = at;
    }
    left_ = std::move(still_left);
  }

  // How many operations the pattern takes from `at` on if there may be a few others among them; 0:
  // it is not there.
  std::size_t with_extra(const std::vector<std::uint32_t>& pattern, std::size_t at) const {
    std::size_t seen = 0, extra = 0;
    for (std::size_t i = at; i < part_.size() && extra <= most_extra(pattern.size()); ++i) {
      if (part_[i] != pattern[seen]) {
        if (seen == 0)
          return 0;
        ++extra;
      } else if (++seen == pattern.size()) {
        return is_whole(at, i + 1 - at) ? i + 1 - at : 0;
      }
    }
    return 0;
  }

  std::vector<SequenceStep> in_batches() {
    std::ranges::sort(steps_, {}, &SequenceStep::first);
    std::vector<std::size_t> pattern_of_kind(k_most_kinds, SIZE_MAX);
    for (const SequenceStep& step : steps_)
      pattern_of_kind[step.kind] = std::min(pattern_of_kind[step.kind], step.size);
    std::vector<SequenceStep> out;
    std::vector<std::size_t> operations(k_most_kinds), batches(k_most_kinds);
    for (std::size_t first = 0, last = 0; first < steps_.size(); first = last) {
      for (last = first + 1; last < steps_.size(); ++last) {
        SequenceStep& before = steps_[last - 1];
        const std::size_t gap = steps_[last].first - (before.first + before.size);
        if (steps_[last].kind != before.kind || gap > most_extra(pattern_of_kind[before.kind]))
          break;
        before.size += gap;
      }
      if (last - first < 2)
        continue; // one by chance, or one whose end is unknown
      const std::uint32_t batch = out.empty() ? 0 : out.back().batch + 1;
      for (std::size_t i = first; i < last; ++i) {
        out.push_back(steps_[i]);
        out.back().batch = batch;
        operations[steps_[i].kind] += steps_[i].size;
      }
      ++batches[steps_[first].kind];
    }
    // What repeats at one place only and is little, such as broadcasts at the begin, is no step.
    const std::size_t most = *std::ranges::max_element(operations);
    std::erase_if(out, [&](const SequenceStep& step) {
      return batches[step.kind] == 1 && k_least_part * operations[step.kind] < most;
    });
    return out;
  }

  std::span<const JobOperation> operations_;
  std::vector<Signature> signatures_;
  std::vector<std::uint32_t> all_;  // symbols: numbers of signatures
  std::vector<std::size_t> left_;   // operations that are in no step yet
  std::vector<std::uint32_t> part_; // their symbols
  std::vector<SequenceStep> steps_;
};

} // namespace

std::vector<SequenceStep> steps_of_sequence(std::span<const JobOperation> operations) {
  return StepFinder(operations).find();
}

} // namespace ncclprobe::analysis::job

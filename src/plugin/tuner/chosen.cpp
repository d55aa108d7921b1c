// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/tuner/chosen.h"

#include "plugin/tuner/decision.h"

#include "base/similar_words.h"
#include "base/text_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>

namespace ncclprobe::plugin {
namespace {

constexpr std::size_t k_most_offers = 64;
constexpr std::size_t k_most_lines = 64;
constexpr std::size_t k_most_costs = 7 * 3; // all algorithms and protocols

struct RecordedOffer {
  int collective = -1;
  std::uint64_t bytes = 0;
  int ranks = 0;
  std::size_t costs_known = 0;
  int protocols = 0;
  std::array<float, k_most_costs> costs{};
  bool applied = true;

  bool is_of(const TunedCall& call, int size) const {
    return collective == call.collective && bytes == call.bytes && ranks == size;
  }
};

// Number of a collective about which NCCL never asks.
constexpr int k_never_asked = 200;

// One number, so that a call on another thread sees a whole choice. Each part is stored plus one;
// 0: absent.
std::atomic<std::uint64_t> current_choice{0};
std::atomic<int> interface_in_use{0};
// The latest recorded call, so that repeating it costs no lock.
std::atomic<std::uint64_t> latest_call{0};
std::mutex offers_lock;
std::array<RecordedOffer, k_most_offers> recorded_offers;
std::size_t offers_used = 0;
std::mutex lines_lock;
std::vector<std::string> lines_of_communicators;

struct TunedCommunicator {
  int ranks = 0;
};

template <typename T>
std::uint64_t packed(const std::optional<T>& part, int at) {
  return part ? (static_cast<std::uint64_t>(*part) + 1) << at : 0;
}
int unpacked(std::uint64_t choice, int at) {
  return static_cast<int>(choice >> at & 0xff) - 1; // -1: absent
}

struct UnpackedChoice {
  int collective, algorithm, protocol, channels; // -1: absent
  explicit UnpackedChoice(std::uint64_t choice)
      : collective(unpacked(choice, 0)), algorithm(unpacked(choice, 8)),
        protocol(unpacked(choice, 16)), channels(unpacked(choice, 24)) {}
  bool allows(std::size_t row, std::size_t column) const {
    return (algorithm < 0 || row == static_cast<std::size_t>(algorithm)) &&
           (protocol < 0 || column == static_cast<std::size_t>(protocol));
  }
};

// Leaves NCCL only the costs that the choice allows; changes nothing and returns false if it would
// leave none. NCCL's estimates stay, unlike with a cost of 0.
bool restrict_costs(const TunedCall& call, const UnpackedChoice& choice) {
  const auto width = static_cast<std::size_t>(call.protocols);
  auto allowed = [&](std::size_t at) { return choice.allows(at / width, at % width); };
  bool any = false;
  for (std::size_t at = 0; at < call.costs.size(); ++at)
    any = any || (allowed(at) && call.costs[at] >= 0);
  for (std::size_t at = 0; any && at < call.costs.size(); ++at)
    if (!allowed(at))
      call.costs[at] = tuner_abi::k_impossible;
  return any;
}

void record_offer(const TunedCall& call, int ranks, std::span<const float> costs, bool applied) {
  std::lock_guard guard(offers_lock);
  for (std::size_t i = 0; i < offers_used; ++i)
    if (recorded_offers[i].is_of(call, ranks))
      return;
  if (offers_used == k_most_offers)
    return;
  RecordedOffer& offer = recorded_offers[offers_used++];
  offer = {call.collective, call.bytes, ranks, costs.size(), call.protocols, {}, applied};
  std::ranges::copy(costs, offer.costs.begin());
}

Offer offer_of(const RecordedOffer& recorded) {
  Offer offer{recorded.collective, recorded.bytes, recorded.ranks, {}, recorded.applied};
  const auto width = static_cast<std::size_t>(recorded.protocols);
  for (std::size_t at = 0; at < recorded.costs_known; ++at)
    if (recorded.costs[at] >= 0)
      offer.possible.push_back(
          {{static_cast<tuning::Algorithm>(at / width), static_cast<tuning::Protocol>(at % width)},
           static_cast<double>(recorded.costs[at])});
  std::ranges::stable_sort(offer.possible, {}, &Offer::Cost::us);
  return offer;
}

void record_shape(const tuning::Shape& shape) {
  if (!shape.domains)
    return;
  std::string line = fmt::format("communicator nRanks {} nNodes {} nvlDomains {} of {} to {} ranks",
                                 shape.ranks, shape.nodes, shape.domains->count,
                                 shape.domains->least_ranks, shape.domains->most_ranks);
  std::lock_guard guard(lines_lock);
  if (lines_of_communicators.size() < k_most_lines &&
      std::ranges::find(lines_of_communicators, line) == lines_of_communicators.end())
    lines_of_communicators.push_back(std::move(line));
}

// As NCCL's variables do, it ignores case.
template <typename Names>
auto word_among(const Names& names, std::string_view word) {
  std::optional<typename Names::value_type::first_type> found;
  for (const auto& [value, name] : names)
    if (base::same_word(name, word))
      found = value;
  return found;
}

std::string in_words(const tuning::Choice& choice) {
  return fmt::format("{} with {}", to_string(choice.algorithm), to_string(choice.protocol));
}

} // namespace

CellChoice choice_of(const std::vector<model::Setting>& settings) {
  CellChoice choice;
  for (const auto& [name, value] : settings) {
    bool known = false;
    if (name == "algorithm") {
      choice.algorithm = word_among(tuning::enum_names(tuning::Algorithm{}), value);
      known = choice.algorithm.has_value();
    } else if (name == "protocol") {
      choice.protocol = word_among(tuning::enum_names(tuning::Protocol{}), value);
      known = choice.protocol.has_value();
    } else if (name == "channels") {
      choice.channels = base::number_of<int>(value).value_or(0);
      known = choice.channels >= 1 && choice.channels <= tuning::k_most_channels;
    }
    if (!known)
      raise(Errc::unsupported, "NCCL's tuner cannot set {}={} within a process", name, value);
  }
  return choice;
}

void choose(const CellChoice& choice) {
  std::lock_guard guard(offers_lock);
  offers_used = 0;
  latest_call = 0;
  std::optional<int> collective, channels;
  if (choice.collective)
    collective = tuning::tuned_number(*choice.collective).value_or(k_never_asked);
  if (choice.channels > 0)
    channels = choice.channels;
  current_choice = packed(collective, 0) | packed(choice.algorithm, 8) |
                   packed(choice.protocol, 16) | packed(channels, 24);
}

std::vector<Offer> offers() {
  std::lock_guard guard(offers_lock);
  std::vector<Offer> all;
  for (std::size_t i = 0; i < offers_used; ++i)
    all.push_back(offer_of(recorded_offers[i]));
  return all;
}

std::string why_not_applied() {
  const UnpackedChoice choice(current_choice);
  for (const Offer& offer : offers()) {
    if (offer.applied)
      continue;
    std::vector<std::string> words, possible;
    if (choice.algorithm >= 0)
      words.emplace_back(to_string(static_cast<tuning::Algorithm>(choice.algorithm)));
    if (choice.protocol >= 0)
      words.emplace_back(to_string(static_cast<tuning::Protocol>(choice.protocol)));
    for (const Offer::Cost& one : offer.possible)
      possible.push_back(in_words(one.choice));
    return fmt::format(
        "NCCL offers no {} for {} of {} bytes on {} ranks; it offers {}",
        fmt::join(words, " with "),
        to_string(tuning::k_tuned_collectives[static_cast<std::size_t>(offer.collective)]),
        offer.bytes, offer.ranks, fmt::join(possible, ", "));
  }
  return "";
}

std::vector<std::string> communicator_lines() {
  std::lock_guard guard(lines_lock);
  return lines_of_communicators;
}

int tuner_interface() {
  return interface_in_use;
}

// --- behind NCCL's interfaces ---

void* open_tuned_communicator(int interface, const tuning::Shape& shape, tuner_abi::Logger) {
  interface_in_use = interface;
  record_shape(shape);
  return new TunedCommunicator{shape.ranks};
}

void decide(void* context, const TunedCall& call) noexcept {
  const int ranks = static_cast<const TunedCommunicator*>(context)->ranks;
  if (call.collective < 0 ||
      static_cast<std::size_t>(call.collective) >= tuning::k_tuned_collectives.size())
    return;
  const UnpackedChoice choice(current_choice.load(std::memory_order_acquire));
  std::array<float, k_most_costs> before{};
  const std::size_t known = std::min(call.costs.size(), before.size());
  std::ranges::copy(call.costs.first(known), before.begin());
  const bool is_meant = choice.collective < 0 || choice.collective == call.collective;
  const bool applied = !is_meant || restrict_costs(call, choice);
  if (is_meant && applied && choice.channels > 0)
    *call.channels = choice.channels;
  const std::uint64_t key = (call.bytes << 24 ^ static_cast<std::uint64_t>(ranks) << 4 ^
                             static_cast<std::uint64_t>(call.collective)) +
                            1;
  if (latest_call.exchange(key, std::memory_order_relaxed) != key)
    record_offer(call, ranks, std::span(before).first(known), applied);
}

void close_tuned_communicator(void* context) {
  delete static_cast<TunedCommunicator*>(context);
}

} // namespace ncclprobe::plugin

// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/supervisor_message.h"

#include "launch/supervisor/tree_mail.h"
#include "model/document.h"
#include "wire/packing.h"

#include <climits>

#include <cstdint>

namespace ncclprobe::launch {
namespace {

// The most ranks that one message may name: a limit for damaged ones.
constexpr std::int64_t k_most_named_ranks = 1 << 22;

struct SharedExchange {
  std::string key;
  std::vector<int> runs; // of the members, in their order: the first rank, and how many follow it
  Parts contributions;
};
NCCLPROBE_FIELDS(SharedExchange, key, runs, contributions)

void write_exchange(base::Writer& out, const wire::Exchange& exchange) {
  SharedExchange shared{exchange.key, {}, {}};
  for (int member : exchange.members)
    if (!shared.runs.empty() && member == shared.runs.end()[-2] + shared.runs.back() + 1)
      ++shared.runs.back();
    else
      shared.runs.insert(shared.runs.end(), {member, 0});
  for (const auto& [rank, bytes] : exchange.contributions)
    shared.contributions[bytes].add(rank, rank + 1);
  base::write_value(out, shared);
}

void read_exchange(base::Reader& in, wire::Exchange& exchange) {
  SharedExchange shared;
  base::read_value(in, shared);
  exchange = {std::move(shared.key), {}, {}};
  bool sound = shared.runs.size() % 2 == 0;
  for (std::size_t i = 0; sound && i < shared.runs.size(); i += 2) {
    const std::int64_t first = shared.runs[i], others = shared.runs[i + 1];
    sound = others >= 0 && others < k_most_named_ranks - std::ssize(exchange.members) &&
            first + others < INT_MAX;
    for (std::int64_t rank = first; sound && rank <= first + others; ++rank)
      exchange.members.push_back(static_cast<int>(rank));
  }
  for (const auto& [bytes, ranks] : shared.contributions) {
    sound = sound && ranks.sound(k_most_named_ranks);
    if (sound) // by name: clang before 16 captures no structured binding
      ranks.each([&, &part = bytes](int rank) { exchange.contributions[rank] = part; });
  }
  if (!sound)
    raise(Errc::protocol, "an exchange has ranks that cannot be");
}

} // namespace

void write_as(base::Writer& out, const ExchangeWhole& whole) {
  write_exchange(out, whole.exchange);
}
void read_as(base::Reader& in, ExchangeWhole& whole) {
  read_exchange(in, whole.exchange);
}
void write_as(base::Writer& out, const ExchangePart& part) {
  write_exchange(out, part.exchange);
}
void read_as(base::Reader& in, ExchangePart& part) {
  read_exchange(in, part.exchange);
}

std::string encode(const SupervisorMessage& message) {
  return wire::pack(message);
}

// Signs of life and progress are soon repeated.
Report make_report(int supervisor, SupervisorMessage message) {
  Report report{.trial = message.trial};
  MessageBody& body = message.body;
  if (auto* part = std::get_if<ExchangePart>(&body)) {
    for (auto& [rank, bytes] : std::exchange(part->exchange.contributions, {}))
      report.parts[bytes].add(rank, rank + 1);
  } else if (auto* whole = std::get_if<TrialReport>(&body)) {
    report.parts[wire::pack(std::exchange(*whole, {}))] = supervisor;
  } else if (std::holds_alternative<Heartbeat>(body) ||
             std::holds_alternative<HeartbeatRequest>(body) ||
             std::holds_alternative<ProgressNote>(body)) {
    report.keep = Keep::no;
  }
  report.bytes = encode(message);
  return report;
}

void put_parts_back(SupervisorMessage& message, const Parts& parts) {
  if (auto* part = std::get_if<ExchangePart>(&message.body))
    for (const auto& [bytes, ranks] : parts)
      ranks.each([&, &own = bytes](int rank) { part->exchange.contributions[rank] = own; });
}

Result<SupervisorMessage> decode_supervisor_message(std::string_view bytes) {
  try {
    return wire::unpack<SupervisorMessage>(bytes);
  } catch (const Exception& error) {
    return fail(Errc::protocol, "a supervisor's message does not parse: {}", error.what());
  }
}

} // namespace ncclprobe::launch

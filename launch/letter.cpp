// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/letter.h"

#include "model/json.h"
#include "wire/mark_columns.h"
#include "wire/packing.h"

#include <nlohmann/json.hpp>

namespace ncclprobe::launch {
namespace {

using wire::Packer;
using wire::Unpacker;

void pack(Packer& out, const TrialOrder& order) {
  out.text(order.spec);
}
void unpack(Unpacker& in, TrialOrder& order) {
  order.spec = in.text();
}

void pack(Packer& out, const Prepare& next) {
  out.text(next.spec);
}
void unpack(Unpacker& in, Prepare& next) {
  next.spec = in.text();
}

void pack(Packer& out, const StopOrder& order) {
  out.number(static_cast<std::int32_t>(order.haste));
  out.number(static_cast<std::int32_t>(order.ask));
}
void unpack(Unpacker& in, StopOrder& order) {
  order.haste = static_cast<Haste>(in.number<std::int32_t>());
  order.ask = static_cast<Ask>(in.number<std::int32_t>());
}

void pack(Packer&, const Release&) {}
void unpack(Unpacker&, Release&) {}
void pack(Packer&, const CompareClocks&) {}
void unpack(Unpacker&, CompareClocks&) {}
void pack(Packer& out, const TraceStored& stored) {
  out.number<std::uint64_t>(stored.files.size());
  for (const std::string& file : stored.files)
    out.text(file);
}
void unpack(Unpacker& in, TraceStored& stored) {
  for (std::size_t left = in.count(1); left > 0; --left)
    stored.files.push_back(in.text());
}
void pack(Packer& out, const SendPiece& wanted) {
  out.text(wanted.file);
  out.number(wanted.offset);
}
void unpack(Unpacker& in, SendPiece& wanted) {
  wanted.file = in.text();
  wanted.offset = in.number<std::uint64_t>();
}
void pack(Packer& out, const DropFile& whole) {
  out.text(whole.file);
}
void unpack(Unpacker& in, DropFile& whole) {
  whole.file = in.text();
}
void pack(Packer& out, const FilePiece& piece) {
  out.text(piece.file);
  out.number(piece.offset);
  out.text(piece.bytes);
  out.number<std::uint8_t>(piece.last ? 1 : 0);
  out.text(piece.problem);
}
void unpack(Unpacker& in, FilePiece& piece) {
  piece.file = in.text();
  piece.offset = in.number<std::uint64_t>();
  piece.bytes = in.text();
  piece.last = in.number<std::uint8_t>() != 0;
  piece.problem = in.text();
}
void pack(Packer& out, const TraceOver& over) {
  out.text(over.spec);
}
void unpack(Unpacker& in, TraceOver& over) {
  over.spec = in.text();
}
void pack(Packer&, const Finished&) {}
void unpack(Unpacker&, Finished&) {}
void pack(Packer&, const AreYouThere&) {}
void unpack(Unpacker&, AreYouThere&) {}
void pack(Packer&, const StillHere&) {}
void unpack(Unpacker&, StillHere&) {}

void pack(Packer& out, const wire::Exchange& exchange) {
  out.text(exchange.key);
  out.numbers(exchange.members);
  out.texts_by_rank(exchange.contributions);
}
void unpack(Unpacker& in, wire::Exchange& exchange) {
  exchange.key = in.text();
  exchange.members = in.numbers();
  exchange.contributions = in.texts_by_rank();
}
void pack(Packer& out, const ExchangeWhole& whole) {
  pack(out, whole.exchange);
}
void unpack(Unpacker& in, ExchangeWhole& whole) {
  unpack(in, whole.exchange);
}
void pack(Packer& out, const ExchangePart& part) {
  pack(out, part.exchange);
}
void unpack(Unpacker& in, ExchangePart& part) {
  unpack(in, part.exchange);
}

void pack(Packer& out, const ProgressNote& note) {
  out.number<std::int32_t>(note.cells_done);
  out.text(note.phase);
  out.number<std::int32_t>(note.stage);
}
void unpack(Unpacker& in, ProgressNote& note) {
  note.cells_done = in.number<std::int32_t>();
  note.phase = in.text();
  note.stage = in.number<std::int32_t>();
}

void pack(Packer& out, const Trouble& trouble) {
  out.number(static_cast<std::int32_t>(trouble.kind));
  out.text(trouble.reason);
  out.numbers(trouble.ranks);
  out.text(trouble.phase);
  out.number<std::int32_t>(trouble.cell);
  out.number(trouble.limit_ns);
}
void unpack(Unpacker& in, Trouble& trouble) {
  trouble.kind = static_cast<Trouble::Kind>(in.number<std::int32_t>());
  trouble.reason = in.text();
  trouble.ranks = in.numbers();
  trouble.phase = in.text();
  trouble.cell = in.number<std::int32_t>();
  trouble.limit_ns = in.number<std::int64_t>();
}

void pack(Packer& out, const model::Outcome& outcome) {
  out.number(static_cast<std::int32_t>(outcome.kind));
  out.text(outcome.reason);
  out.numbers(outcome.ranks);
}
void unpack(Unpacker& in, model::Outcome& outcome) {
  outcome.kind = static_cast<model::OutcomeKind>(in.number<std::int32_t>());
  outcome.reason = in.text();
  outcome.ranks = in.numbers();
}

void pack(Packer& out, const model::CheckResult& check) {
  out.number(static_cast<std::int32_t>(check.kind));
  out.number(check.elements);
  out.number(check.wrong);
  out.text(check.first_wrong);
  out.text(check.why_unchecked);
  out.number(check.launches);
  out.text(check.method);
}
void unpack(Unpacker& in, model::CheckResult& check) {
  check.kind = static_cast<model::CheckResult::Kind>(in.number<std::int32_t>());
  check.elements = in.number<std::uint64_t>();
  check.wrong = in.number<std::uint64_t>();
  check.first_wrong = in.text();
  check.why_unchecked = in.text();
  check.launches = in.number<std::uint64_t>();
  check.method = in.text();
}

void pack(Packer& out, const model::Sample& sample) {
  out.number(sample.rank);
  out.number(sample.batch);
  out.number(sample.iterations);
  out.number(sample.elapsed_ns);
  out.number(sample.launch_ns);
}
void unpack(Unpacker& in, model::Sample& sample) {
  sample.rank = in.number<std::int32_t>();
  sample.batch = in.number<std::int32_t>();
  sample.iterations = in.number<std::int32_t>();
  sample.elapsed_ns = in.number<std::int64_t>();
  sample.launch_ns = in.number<std::int64_t>();
}

void pack(Packer& out, const RankReport& rank);
void unpack(Unpacker& in, RankReport& rank);
void pack(Packer& out, const WorkerReport& worker);
void unpack(Unpacker& in, WorkerReport& worker);

// Every element takes at least a byte.
template <typename T>
void pack(Packer& out, const std::vector<T>& values) {
  out.number<std::uint64_t>(values.size());
  for (const T& value : values)
    pack(out, value);
}
template <typename T>
void unpack(Unpacker& in, std::vector<T>& values) {
  for (std::size_t left = in.count(1); left > 0; --left)
    unpack(in, values.emplace_back());
}

void pack(Packer& out, const RankReport& rank) {
  out.number<std::int32_t>(rank.rank);
  out.text(rank.phase);
  out.number<std::int32_t>(rank.cell);
  out.number<std::uint64_t>(rank.results.size());
  for (const auto& [cell, result] : rank.results) {
    out.number<std::int32_t>(cell);
    pack(out, result.outcome);
    pack(out, result.check);
    pack(out, result.samples);
    out.text(nlohmann::json(result.conditions).dump());
    wire::pack_marks(out, result.marks);
  }
  out.text(rank.evidence ? model::write_json(*rank.evidence) : "");
}
void unpack(Unpacker& in, RankReport& rank) {
  rank.rank = in.number<std::int32_t>();
  rank.phase = in.text();
  rank.cell = in.number<std::int32_t>();
  for (std::size_t left = in.count(1); left > 0; --left) {
    model::CellRecord& result = rank.results[in.number<std::int32_t>()];
    unpack(in, result.outcome);
    unpack(in, result.check);
    unpack(in, result.samples);
    nlohmann::json::parse(in.text()).get_to(result.conditions);
    result.marks = wire::unpack_marks(in);
  }
  if (std::string evidence = in.text(); !evidence.empty())
    rank.evidence = base::value_or_throw(model::parse_json<model::Evidence>(evidence));
}

void pack(Packer& out, const WorkerReport& worker) {
  out.text(model::write_json(worker.record));
  pack(out, worker.ranks);
  out.number<std::uint8_t>(worker.lost ? 1 : 0);
  out.text(worker.state);
  out.text(worker.waits_in);
  out.text(nlohmann::json(worker.nccl_settings)
               .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}
void unpack(Unpacker& in, WorkerReport& worker) {
  worker.record = base::value_or_throw(model::parse_json<model::WorkerRecord>(in.text()));
  unpack(in, worker.ranks);
  worker.lost = in.number<std::uint8_t>() != 0;
  worker.state = in.text();
  worker.waits_in = in.text();
  nlohmann::json::parse(in.text()).get_to(worker.nccl_settings);
}

void pack(Packer& out, const TrialReport& report) {
  pack(out, report.workers);
  out.number(report.startup_ns);
  out.number<std::uint8_t>(report.prepared ? 1 : 0);
}
void unpack(Unpacker& in, TrialReport& report) {
  unpack(in, report.workers);
  report.startup_ns = in.number<std::int64_t>();
  report.prepared = in.number<std::uint8_t>() != 0;
}

template <std::size_t Index = 0>
LetterBody unpack_body(std::size_t type, Unpacker& in) {
  if constexpr (Index < std::variant_size_v<LetterBody>) {
    if (type != Index)
      return unpack_body<Index + 1>(type, in);
    std::variant_alternative_t<Index, LetterBody> body;
    unpack(in, body);
    in.expect_end();
    return body;
  } else {
    base::raise(base::Errc::protocol, "there is no letter type {}", type);
  }
}

} // namespace

std::string encode(const Letter& letter) {
  Packer out;
  out.number<std::int32_t>(letter.trial);
  out.number<std::uint16_t>(static_cast<std::uint16_t>(letter.body.index()));
  std::visit([&](const auto& body) { pack(out, body); }, letter.body);
  return out.take();
}

base::Result<Letter> decode_letter(std::string_view bytes) {
  try {
    Unpacker in(bytes);
    int trial = in.number<std::int32_t>();
    auto type = in.number<std::uint16_t>();
    return Letter{trial, unpack_body(type, in)};
  } catch (const std::exception& error) { // nlohmann's and ours
    return base::fail(base::Errc::protocol, "a supervisor's letter does not parse: {}",
                      error.what());
  }
}

} // namespace ncclprobe::launch

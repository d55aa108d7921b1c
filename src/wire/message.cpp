// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "wire/message.h"

#include "model/json.h"
#include "wire/mark_columns.h"
#include "wire/packing.h"

#include <nlohmann/json.hpp>

#include <cstring>

namespace ncclprobe::wire {
namespace {

using nlohmann::json;

constexpr std::uint32_t k_magic = 0x4250434E; // "NCPB" in memory
constexpr std::uint64_t k_longest_payload = std::uint64_t{1} << 30;

struct Header {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t type; // index in Body
  std::int32_t rank;
  std::uint32_t unused;
  std::uint64_t payload_bytes;
};
static_assert(sizeof(Header) == 24 && std::is_trivially_copyable_v<Header>);

// Library messages inside may hold bytes that are no UTF-8.
std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string pack(const Hello& hello) {
  return dump({{"protocol", hello.protocol}, {"version", hello.version}, {"pid", hello.pid}});
}

std::string pack(const Start& start) {
  json seats = json::array();
  for (const Seat& seat : start.seats)
    seats.push_back({seat.rank, seat.device});
  return dump({{"spec", start.spec},
               {"seats", seats},
               {"host_of_rank", start.host_of_rank},
               {"spool", start.spool}});
}

std::string pack(const Phase& phase) {
  return dump({{"name", phase.name}, {"cell", phase.cell}});
}

std::string pack(const Exchange& exchange) {
  Packer packer;
  packer.text(exchange.key);
  packer.numbers(exchange.members);
  packer.texts_by_rank(exchange.contributions);
  return packer.take();
}

std::string pack(const CellEnd& end) {
  Packer packer;
  packer.text(dump({{"cell", end.cell},
                    {"outcome", end.result.outcome},
                    {"check", end.result.check},
                    {"conditions", end.result.conditions}}));
  packer.number<std::uint64_t>(end.result.samples.size());
  for (const model::Sample& sample : end.result.samples)
    packer.number(sample.rank);
  for (const model::Sample& sample : end.result.samples)
    packer.number(sample.batch);
  for (const model::Sample& sample : end.result.samples)
    packer.number(sample.iterations);
  for (const model::Sample& sample : end.result.samples)
    packer.number(sample.elapsed_ns);
  for (const model::Sample& sample : end.result.samples)
    packer.number(sample.launch_ns);
  pack_marks(packer, end.result.marks);
  return packer.take();
}

std::string pack(const Failure& failure) {
  return dump({{"outcome", failure.outcome}, {"cell", failure.cell}});
}

std::string pack(const Done&) {
  return {};
}
std::string pack(const Inventory& inventory) {
  return dump(inventory.host);
}
std::string pack(const Survey& survey) {
  return dump(survey.survey);
}
std::string pack(const Evidence& evidence) {
  return dump(evidence.evidence);
}
std::string pack(const Loaded& loaded) {
  return dump({{"libraries", loaded.libraries}, {"cpus", loaded.cpus}, {"memory", loaded.memory}});
}
std::string pack(const Where&) {
  return {};
}
std::string pack(const Position& position) {
  return dump({{"position", position.position}, {"stack", position.stack}});
}

void unpack(std::string_view bytes, Hello& hello) {
  json in = json::parse(bytes);
  in.at("protocol").get_to(hello.protocol);
  in.at("version").get_to(hello.version);
  in.at("pid").get_to(hello.pid);
}

void unpack(std::string_view bytes, Start& start) {
  json in = json::parse(bytes);
  in.at("spec").get_to(start.spec);
  for (const json& seat : in.at("seats"))
    start.seats.push_back({seat.at(0).get<int>(), seat.at(1).get<int>()});
  in.at("host_of_rank").get_to(start.host_of_rank);
  in.at("spool").get_to(start.spool);
}

void unpack(std::string_view bytes, Phase& phase) {
  json in = json::parse(bytes);
  in.at("name").get_to(phase.name);
  in.at("cell").get_to(phase.cell);
}

void unpack(std::string_view bytes, Exchange& exchange) {
  Unpacker unpacker(bytes);
  exchange.key = unpacker.text();
  exchange.members = unpacker.numbers();
  exchange.contributions = unpacker.texts_by_rank();
  unpacker.expect_end();
}

void unpack(std::string_view bytes, CellEnd& end) {
  Unpacker unpacker(bytes);
  json in = json::parse(unpacker.text());
  in.at("cell").get_to(end.cell);
  in.at("outcome").get_to(end.result.outcome);
  in.at("check").get_to(end.result.check);
  in.at("conditions").get_to(end.result.conditions);
  constexpr std::size_t k_row_bytes = 3 * sizeof(std::int32_t) + 2 * sizeof(std::int64_t);
  end.result.samples.resize(unpacker.count(k_row_bytes));
  for (model::Sample& sample : end.result.samples)
    sample.rank = unpacker.number<std::int32_t>();
  for (model::Sample& sample : end.result.samples)
    sample.batch = unpacker.number<std::int32_t>();
  for (model::Sample& sample : end.result.samples)
    sample.iterations = unpacker.number<std::int32_t>();
  for (model::Sample& sample : end.result.samples)
    sample.elapsed_ns = unpacker.number<std::int64_t>();
  for (model::Sample& sample : end.result.samples)
    sample.launch_ns = unpacker.number<std::int64_t>();
  end.result.marks = unpack_marks(unpacker);
  unpacker.expect_end();
}

void unpack(std::string_view bytes, Failure& failure) {
  json in = json::parse(bytes);
  in.at("outcome").get_to(failure.outcome);
  in.at("cell").get_to(failure.cell);
}

void unpack(std::string_view bytes, Done&) {
  Unpacker(bytes).expect_end();
}

void unpack(std::string_view bytes, Inventory& inventory) {
  json::parse(bytes).get_to(inventory.host);
}

void unpack(std::string_view bytes, Survey& survey) {
  json::parse(bytes).get_to(survey.survey);
}

void unpack(std::string_view bytes, Evidence& evidence) {
  json::parse(bytes).get_to(evidence.evidence);
}

void unpack(std::string_view bytes, Loaded& loaded) {
  json in = json::parse(bytes);
  in.at("libraries").get_to(loaded.libraries);
  in.at("cpus").get_to(loaded.cpus);
  in.at("memory").get_to(loaded.memory);
}

void unpack(std::string_view bytes, Where&) {
  Unpacker(bytes).expect_end();
}

void unpack(std::string_view bytes, Position& position) {
  json in = json::parse(bytes);
  in.at("position").get_to(position.position);
  in.at("stack").get_to(position.stack);
}

template <typename Alternative>
Body unpack_as(std::string_view bytes) {
  Alternative value;
  unpack(bytes, value);
  return value;
}

template <std::size_t... Index>
Body unpack_body(std::size_t type, std::string_view bytes, std::index_sequence<Index...>) {
  using Unpack = Body (*)(std::string_view);
  constexpr Unpack k_table[] = {unpack_as<std::variant_alternative_t<Index, Body>>...};
  return k_table[type](bytes);
}

constexpr std::size_t k_types = std::variant_size_v<Body>;

} // namespace

std::string encode(const Message& message) {
  std::string payload = std::visit([](const auto& body) { return pack(body); }, message.body);
  if (payload.size() > k_longest_payload)
    base::raise(base::Errc::protocol, "a message of {} bytes is too long to send", payload.size());
  Header header{
      k_magic, k_protocol_version, static_cast<std::uint16_t>(message.body.index()), message.rank,
      0,       payload.size()};
  std::string frame(reinterpret_cast<const char*>(&header), sizeof header);
  frame += payload;
  return frame;
}

void Decoder::feed(const char* data, std::size_t size) {
  if (read_ == pending_.size()) {
    pending_.clear();
    read_ = 0;
  } else if (read_ > pending_.size() / 2) {
    pending_.erase(0, read_);
    read_ = 0;
  }
  pending_.append(data, size);
}

base::Result<std::optional<Message>> Decoder::next() {
  std::string_view waiting = std::string_view(pending_).substr(read_);
  if (waiting.size() < sizeof(Header)) {
    // Garbage need not be as long as a header to be recognised.
    std::size_t seen = std::min(waiting.size(), sizeof k_magic);
    if (std::memcmp(waiting.data(), &k_magic, seen) != 0)
      return base::fail(base::Errc::protocol, "the bytes on the channel are no ncclprobe frame");
    return std::nullopt;
  }
  Header header;
  std::memcpy(&header, waiting.data(), sizeof header);
  if (header.magic != k_magic)
    return base::fail(base::Errc::protocol, "the bytes on the channel are no ncclprobe frame");
  if (header.version != k_protocol_version)
    return base::fail(base::Errc::protocol,
                      "the other side speaks protocol version {}, this one {}: the programs are of "
                      "different versions of ncclprobe",
                      header.version, k_protocol_version);
  if (header.type >= k_types)
    return base::fail(base::Errc::protocol, "there is no message type {}", header.type);
  if (header.payload_bytes > k_longest_payload)
    return base::fail(base::Errc::protocol, "a frame announces {} bytes", header.payload_bytes);
  if (waiting.size() - sizeof header < header.payload_bytes)
    return std::nullopt;
  std::string_view payload = waiting.substr(sizeof header, header.payload_bytes);
  try {
    Message message{header.rank,
                    unpack_body(header.type, payload, std::make_index_sequence<k_types>())};
    read_ += sizeof header + payload.size();
    return message;
  } catch (const std::exception& error) { // nlohmann's and ours
    return base::fail(base::Errc::protocol, "a message of type {} does not parse: {}", header.type,
                      error.what());
  }
}

} // namespace ncclprobe::wire

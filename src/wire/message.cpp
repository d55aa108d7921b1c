// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "wire/message.h"

#include "model/document.h"
#include "wire/packing.h"

#include <cstring>

namespace ncclprobe::wire {
namespace {

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

template <typename Alternative>
Body unpack_as(std::string_view bytes, std::span<const std::string> secrets) {
  if constexpr (std::is_same_v<Alternative, Exchange>)
    return unpack<Alternative>(bytes);
  else
    return unpack<Alternative>(bytes, secrets);
}

template <std::size_t... Index>
Body unpack_body(std::size_t type, std::string_view bytes, std::span<const std::string> secrets,
                 std::index_sequence<Index...>) {
  using Unpack = Body (*)(std::string_view, std::span<const std::string>);
  constexpr Unpack k_table[] = {unpack_as<std::variant_alternative_t<Index, Body>>...};
  return k_table[type](bytes, secrets);
}

constexpr std::size_t k_types = std::variant_size_v<Body>;

} // namespace

std::string encode(const Message& message) {
  const std::string payload = std::visit([](const auto& body) { return pack(body); }, message.body);
  if (payload.size() > k_longest_payload)
    raise(Errc::protocol, "a message of {} bytes is too long to send", payload.size());
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

Result<std::optional<Message>> Decoder::next() {
  std::string_view waiting = std::string_view(pending_).substr(read_);
  if (waiting.size() < sizeof(Header)) {
    // Garbage may be shorter than a header and must still be recognised.
    std::size_t seen = std::min(waiting.size(), sizeof k_magic);
    if (std::memcmp(waiting.data(), &k_magic, seen) != 0)
      return fail(Errc::protocol, "the bytes on the channel are not an ncclprobe frame");
    return std::nullopt;
  }
  Header header;
  std::memcpy(&header, waiting.data(), sizeof header);
  if (header.magic != k_magic)
    return fail(Errc::protocol, "the bytes on the channel are not an ncclprobe frame");
  if (header.version != k_protocol_version)
    return fail(Errc::protocol,
                "the other side uses protocol version {}, this side {}: the programs have "
                "different versions of ncclprobe",
                header.version, k_protocol_version);
  if (header.type >= k_types)
    return fail(Errc::protocol, "there is no message type {}", header.type);
  if (header.payload_bytes > k_longest_payload)
    return fail(Errc::protocol, "a frame announces {} bytes", header.payload_bytes);
  if (waiting.size() - sizeof header < header.payload_bytes)
    return std::nullopt;
  std::string_view payload = waiting.substr(sizeof header, header.payload_bytes);
  try {
    Message message{header.rank, unpack_body(header.type, payload, secrets_,
                                             std::make_index_sequence<k_types>())};
    read_ += sizeof header + payload.size();
    return message;
  } catch (const Exception& error) {
    return fail(Errc::protocol, "a message of type {} cannot be parsed: {}", header.type,
                error.what());
  }
}

} // namespace ncclprobe::wire

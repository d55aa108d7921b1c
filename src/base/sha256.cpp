// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/sha256.h"

#include <fmt/format.h>

#include <array>
#include <nettle/hmac.h>
#include <nettle/sha2.h>

namespace ncclprobe::base {
namespace {

using Digest = std::array<std::uint8_t, SHA256_DIGEST_SIZE>;

const std::uint8_t* data_of(std::string_view bytes) {
  return reinterpret_cast<const std::uint8_t*>(bytes.data());
}

std::string digits_of(const Digest& digest) {
  std::string text;
  for (const std::uint8_t byte : digest)
    text += fmt::format("{:02x}", byte);
  return text;
}

} // namespace

std::string sha256(std::string_view bytes) {
  sha256_ctx context;
  sha256_init(&context);
  sha256_update(&context, bytes.size(), data_of(bytes));
  Digest digest{};
  sha256_digest(&context, digest.size(), digest.data());
  return digits_of(digest);
}

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  hmac_sha256_ctx context;
  hmac_sha256_set_key(&context, key.size(), data_of(key));
  hmac_sha256_update(&context, bytes.size(), data_of(bytes));
  Digest digest{};
  hmac_sha256_digest(&context, digest.size(), digest.data());
  return digits_of(digest);
}

} // namespace ncclprobe::base

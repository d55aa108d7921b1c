// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/readable_bytes.h"
#include "support/catch.h"

using ncclprobe::base::readable_bytes;

TEST_CASE("sizes for people have at most three decimals and the unit that fits") {
  CHECK(readable_bytes(0) == "0 bytes");
  CHECK(readable_bytes(1) == "1 byte");
  CHECK(readable_bytes(1000) == "1000 bytes");
  CHECK(readable_bytes(1536) == "1.5 KiB");
  CHECK(readable_bytes(64 << 20) == "64 MiB");
  CHECK(readable_bytes(std::uint64_t{6'693'040} << 10) == "6.383 GiB");
  CHECK(readable_bytes((std::uint64_t{1} << 30) - 1) == "1 GiB");
  CHECK(readable_bytes(UINT64_MAX) == "16777216 TiB");
}

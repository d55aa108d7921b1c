// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "tuning/lookup.h"

#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::tuning;
using model::Collective;

namespace {

constexpr int k_broadcast = 0, k_all_gather = 2, k_all_reduce = 4; // as NCCL counts

Row row(Collective collective, std::uint64_t min, std::uint64_t max, int ranks = 8, int nodes = 1,
        std::optional<NvlinkDomains> domains = std::nullopt) {
  return {collective, min, max, ranks, nodes, domains, Choice{}, k_keep_channels, std::nullopt};
}

} // namespace

TEST_CASE("only calls that were measured have a row") {
  Table table;
  table.rows = {row(Collective::all_reduce, 4096, 8191), row(Collective::all_reduce, 1024, 2048),
                row(Collective::all_gather, 0, ~std::uint64_t{0}),
                row(Collective::all_reduce, 0, 1 << 30, 16, 2)};
  Lookup lookup(table, {8, 1, std::nullopt});

  CHECK(lookup.row_of(k_all_reduce, 1023) == -1);
  CHECK(lookup.row_of(k_all_reduce, 1024) == 1);
  CHECK(lookup.row_of(k_all_reduce, 2048) == 1);
  CHECK(lookup.row_of(k_all_reduce, 2049) == -1);
  CHECK(lookup.row_of(k_all_reduce, 4096) == 0);
  CHECK(lookup.row_of(k_all_reduce, 8191) == 0);
  CHECK(lookup.row_of(k_all_reduce, 8192) == -1);
  CHECK(lookup.row_of(k_all_gather, 0) == 2);
  CHECK(lookup.row_of(k_all_gather, ~std::uint64_t{0}) == 2);
  CHECK(lookup.row_of(k_broadcast, 1024) == -1);
  CHECK(lookup.row_of(5, 1024) == -1); // NCCL's send and receive
  CHECK(lookup.row_of(-1, 1024) == -1);
  CHECK_FALSE(lookup.empty());

  CHECK(Lookup(table, {16, 2, std::nullopt}).row_of(k_all_reduce, 5000) == 3);
  CHECK(Lookup(table, {16, 1, std::nullopt}).empty());
}

TEST_CASE("rows for certain NVLink domains apply to these alone") {
  Table table;
  table.rows = {row(Collective::all_reduce, 0, 9, 8, 2, NvlinkDomains{2, 4, 4}),
                row(Collective::all_reduce, 10, 19, 8, 2)};

  CHECK(Lookup(table, {8, 2, NvlinkDomains{2, 4, 4}}).row_of(k_all_reduce, 5) == 0);
  CHECK(Lookup(table, {8, 2, NvlinkDomains{2, 4, 4}}).row_of(k_all_reduce, 15) == 1);
  CHECK(Lookup(table, {8, 2, NvlinkDomains{2, 3, 5}}).row_of(k_all_reduce, 5) == -1);
  CHECK(Lookup(table, {8, 2, std::nullopt}).row_of(k_all_reduce, 5) == -1);
  CHECK(Lookup(table, {8, 2, std::nullopt}).row_of(k_all_reduce, 15) == 1);
}

TEST_CASE("another machine has another estimate") {
  Row one = row(Collective::all_reduce, 1000, 2000);
  CHECK(fits_estimate(one, 1500, 1e9)); // the row has none
  one.estimate = Estimate{10, 30};

  CHECK(fits_estimate(one, 1500, 20));
  CHECK(fits_estimate(one, 1000, 10));
  CHECK(fits_estimate(one, 1500, 24.9));
  CHECK_FALSE(fits_estimate(one, 1500, 25.1));
  CHECK(fits_estimate(one, 1500, 16.1));
  CHECK_FALSE(fits_estimate(one, 1500, 15.9));
  CHECK(fits_estimate(one, 1500, -1)); // NCCL excludes Ring here
  one.max_bytes = one.min_bytes;
  CHECK(fits_estimate(one, 1000, 10));
}

// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/results/bandwidth.h"
#include "support/catch.h"

using namespace ncclprobe::analysis;
using namespace ncclprobe::model;

TEST_CASE("algbw is bytes over nanoseconds, in 1e9 bytes per second") {
  CHECK(*algbw_gb_per_s(1'000'000'000, 1e9) == Approx(1.0));
  CHECK(*algbw_gb_per_s(std::uint64_t{1} << 30, 2e6) == Approx(536.870912));
  CHECK(*algbw_gb_per_s(0, 1e3) == 0.0);
}

TEST_CASE("algbw of a time that is not above zero does not exist") {
  CHECK_FALSE(algbw_gb_per_s(8, 0).has_value());
  CHECK_FALSE(algbw_gb_per_s(8, -1).has_value());
}

TEST_CASE("busbw factors are those of nccl-tests at 8 ranks") {
  CHECK(*busbw_factor(Collective::all_reduce, 8) == 1.75);
  CHECK(*busbw_factor(Collective::reduce_scatter, 8) == 0.875);
  CHECK(*busbw_factor(Collective::all_gather, 8) == 0.875);
  CHECK(*busbw_factor(Collective::all_to_all, 8) == 0.875);
  CHECK(*busbw_factor(Collective::gather, 8) == 0.875);
  CHECK(*busbw_factor(Collective::scatter, 8) == 0.875);
  CHECK(*busbw_factor(Collective::broadcast, 8) == 1.0);
  CHECK(*busbw_factor(Collective::reduce, 8) == 1.0);
  CHECK(*busbw_factor(Collective::send_recv, 8) == 1.0);
  CHECK(*busbw_factor(Collective::all_to_all_v, 8) == 0.875);
  CHECK(*busbw_factor(Collective::hypercube, 8) == 0.875);
}

TEST_CASE("busbw factors of a single rank follow the same formulas") {
  CHECK(*busbw_factor(Collective::all_reduce, 1) == 0.0);
  CHECK(*busbw_factor(Collective::all_gather, 1) == 0.0);
  CHECK(*busbw_factor(Collective::broadcast, 1) == 1.0);
}

TEST_CASE("an odd number of ranks gives the exact fraction") {
  CHECK(*busbw_factor(Collective::all_reduce, 3) == Approx(4.0 / 3.0));
  CHECK(*busbw_factor(Collective::all_gather, 5) == Approx(0.8));
}

TEST_CASE("busbw exists for collectives only, and for at least one rank") {
  CHECK(*busbw_factor(CellLabel{}, 4) == 1.5);
  CHECK_FALSE(busbw_factor({.what = EmptyKernelLabel{}}, 4).has_value());
  CHECK_FALSE(busbw_factor(Collective::all_reduce, 0).has_value());
}

TEST_CASE("busbw of a published nccl-tests line is reproduced") {
  // 8 ranks, 1 GiB all_reduce in 4122 us: algbw 260.49, busbw 455.85 GB/s.
  double algbw = *algbw_gb_per_s(std::uint64_t{1} << 30, 4'122'000);

  CHECK(algbw == Approx(260.49).epsilon(1e-4));
  CHECK(algbw * *busbw_factor(Collective::all_reduce, 8) == Approx(455.85).epsilon(1e-4));
}

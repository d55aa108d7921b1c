// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "tuning/nvidia_csv.h"

#include "support/catch.h"

#include <algorithm>

using namespace ncclprobe;
using namespace ncclprobe::tuning;
using model::Collective;

namespace {

// The row that decides in NVIDIA's file, found as its plugin does; nothing: none.
std::optional<int> channels_of(const Table& table, std::uint64_t bytes) {
  for (const Row& row : table.rows)
    if (row.min_bytes <= bytes && bytes <= row.max_bytes)
      return row.channels;
  return std::nullopt;
}

bool mentions(const std::vector<std::string>& remarks, const std::string& words) {
  return std::ranges::any_of(
      remarks, [&](const std::string& one) { return one.find(words) != std::string::npos; });
}

} // namespace

TEST_CASE("rows of NVIDIA's example tuner become rows of a table") {
  auto from = from_nvidia_csv("# a comment\n\n"
                              "allreduce,65537,1048576,ring,simple,4,4,32\n"
                              " allgather , 0 , 4294967295,nvls , simple,-1,1,8,-1,-1\n",
                              "n.conf");

  REQUIRE(from);
  CHECK(from->remarks.empty());
  CHECK(from->table.header == Header{});
  REQUIRE(from->table.rows.size() == 2);
  CHECK(from->table.rows[0] == Row{Collective::all_reduce, 65537, 1048576, 32, 4, std::nullopt,
                                   Choice{Algorithm::ring, Protocol::simple}, 4, std::nullopt});
  CHECK(from->table.rows[1] == Row{Collective::all_gather, 0, 4294967295, 8, 1, std::nullopt,
                                   Choice{Algorithm::nvls, Protocol::simple}, k_keep_channels,
                                   std::nullopt});
  CHECK(parse_table(to_text(from->table), "a.csv") == from->table);
}

TEST_CASE("rows with conditions that a table lacks are left out, each with a reason") {
  auto from = from_nvidia_csv("allreduce,0,9,ring,simple,4,-1,32\n"
                              "allreduce,0,9,ring,simple,4,1,-1\n"
                              "allreduce,0,9,ring,simple,4,1,8,1\n"
                              "allreduce,0,9,ring,simple,4,1,8,-1,0\n"
                              "allreduce,0,9,ring,simple,4,9,8\n",
                              "n.conf");
  REQUIRE(from);
  CHECK(from->table.rows.empty());
  CHECK(from->remarks.size() == 5);
}

TEST_CASE("the first match of overlapping rows keeps its sizes") {
  auto from = from_nvidia_csv("allreduce,10,19,ring,simple,1,1,8\n"
                              "allreduce,30,39,ring,simple,2,1,8\n"
                              "allreduce,0,50,tree,ll,3,1,8\n"
                              "allreduce,12,15,tree,ll,4,1,8\n"
                              "allreduce,45,18446744073709551615,tree,ll,5,1,8\n",
                              "n.conf");

  REQUIRE(from);
  CHECK(from->remarks.size() == 3); // lines 3, 4 and 5
  for (const auto& [bytes, channels] :
       std::vector<std::pair<std::uint64_t, int>>{{0, 3},
                                                  {9, 3},
                                                  {10, 1},
                                                  {19, 1},
                                                  {20, 3},
                                                  {29, 3},
                                                  {30, 2},
                                                  {39, 2},
                                                  {40, 3},
                                                  {50, 3},
                                                  {51, 5},
                                                  {~std::uint64_t{0}, 5}}) {
    CAPTURE(bytes);
    CHECK(channels_of(from->table, bytes) == channels);
  }
  CHECK(parse_table(to_text(from->table), "a.csv") == from->table); // no overlaps
}

TEST_CASE("what the example tuner would misread is an error with file and line") {
  for (const char* line : {"allreduce,0,9,ring,simple,4,1", "allreduce,0,9,ring,simple,4,1,8,1,0,1",
                           "all_reduce,0,9,ring,simple,4,1,8", "allreduce,0,9,Ring,simple,4,1,8",
                           "allreduce,0,9,ring,ll64,4,1,8", "allreduce,0,9,ring,simple,,1,8",
                           "allreduce,9,0,ring,simple,4,1,8", "allreduce,0,9,ring,simple,4,one,8",
                           "allreduce,0,9,ring,simple,99,1,8"}) {
    auto from = from_nvidia_csv(std::string("# a comment\n") + line + "\n", "n.conf");
    CAPTURE(line);
    REQUIRE(!from);
    CHECK(from.error().code == Errc::protocol);
    CHECK_THAT(from.error().message, Catch::Matchers::StartsWith("n.conf:2: "));
  }
}

TEST_CASE("a table becomes a file for NVIDIA's example tuner, with what it loses") {
  Table table;
  table.header.gpu = "NVIDIA H200";
  table.rows = {{Collective::all_reduce, 1024, 2047, 8, 1, NvlinkDomains{1, 8, 8},
                 Choice{Algorithm::collnet_direct, Protocol::simple}, 16, Estimate{1, 2}},
                {Collective::all_reduce, 4096, ~std::uint64_t{0}, 8, 1, NvlinkDomains{1, 8, 8},
                 Choice{Algorithm::tree, Protocol::ll128}, 8, std::nullopt}};
  auto to = to_nvidia_csv(table);

  REQUIRE(to);
  CHECK_THAT(to->text, ContainsSubstring("\nallreduce,1024,2047,collnet_direct,simple,16,1,8\n"));
  CHECK(mentions(to->remarks, "NVLink domains"));
  CHECK(mentions(to->remarks, "estimates"));
  CHECK(mentions(to->remarks, "any machine"));
  CHECK(mentions(to->remarks, "0 to 1023, 2048 to 4095"));
  CHECK_FALSE(mentions(to->remarks, "and more"));

  auto back = from_nvidia_csv(to->text, "n.conf");
  REQUIRE(back);
  REQUIRE(back->table.rows.size() == 2);
  CHECK(back->table.rows[1].choice == table.rows[1].choice);
  CHECK(back->table.rows[1].max_bytes == ~std::uint64_t{0});
  CHECK(is_table(to_text(table)));
  CHECK_FALSE(is_table(to->text));
}

TEST_CASE("a row for which the example tuner would force something else is refused") {
  Table table;
  table.rows = {{Collective::all_reduce, 1024, 2047, 8, 1, std::nullopt, Choice{}, k_keep_channels,
                 std::nullopt}};
  REQUIRE(!to_nvidia_csv(table));
  CHECK(to_nvidia_csv(table).error().code == Errc::unsupported);
  table.rows[0].channels = 4;
  CHECK(to_nvidia_csv(table));
  table.rows[0].choice.reset();
  CHECK(!to_nvidia_csv(table));
}

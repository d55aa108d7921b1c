// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "tuning/table.h"

#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::tuning;

namespace {

const std::string k_top =
    "# ncclprobe tuner table: 1\n"
    "# nccl: 2.30.7\n"
    "collective,min_bytes,max_bytes,ranks,nodes,nvlink_domains,algorithm,protocol,channels,min_us,"
    "max_us\n";
const std::string k_good = "all_reduce,1024,2048,8,1,1x8,Ring,LL128,16,10.5,12\n";

Error error_of(const std::string& text) {
  auto table = parse_table(text, "a.csv");
  REQUIRE(!table);
  CHECK(table.error().code == Errc::protocol);
  return table.error();
}

} // namespace

TEST_CASE("a table is read as it was written") {
  Table table;
  table.header = {"node 7",     "NVIDIA H200", "2.30.7",       "580.1",
                  "2026-11-23", "1.14 times",  "1.10 to 1.18", "1.0"};
  table.rows = {{model::Collective::all_reduce, 0, 1023, 8, 2, NvlinkDomains{2, 3, 5},
                 Choice{Algorithm::nvls_tree, Protocol::simple}, 7, Estimate{0.125, 1e6 / 3}},
                {model::Collective::reduce_scatter, 1 << 20, ~std::uint64_t{0}, 2, 1, std::nullopt,
                 std::nullopt, 64, std::nullopt},
                {model::Collective::broadcast, 5, 5, 16, 2, NvlinkDomains{2, 8, 8},
                 Choice{Algorithm::ring, Protocol::ll}, k_keep_channels, std::nullopt}};

  auto read = parse_table(to_text(table), "a.csv");

  REQUIRE(read);
  CHECK(*read == table);
  CHECK(parse_table(to_text(Table{}), "a.csv") == Table{});
}

TEST_CASE("line breaks of other systems are read") {
  std::string text = k_top + k_good;
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2)
    text.insert(at, "\r");
  CHECK(parse_table(text, "a.csv").value() == parse_table(k_top + k_good, "a.csv").value());
}

TEST_CASE("a fault of a table is named with file and line") {
  const auto [text, start] = GENERATE(table<std::string, std::string>(
      {{"", "a.csv:1: "},
       {"all_reduce\n", "a.csv:1: "},
       {"# ncclprobe tuner table: 2\n", "a.csv:1: "},
       {"# ncclprobe tuner table: 1\n# colour: red\n", "a.csv:2: 'colour'"},
       {"# ncclprobe tuner table: 1\n# gpu: a\n# gpu: a\n", "a.csv:3: gpu"},
       {"# ncclprobe tuner table: 1\n# nccl: 2.30.7+cuda13\n", "a.csv:2: nccl"},
       {"# ncclprobe tuner table: 1\n# nccl: 2.30\n", "a.csv:2: nccl"},
       {"# ncclprobe tuner table: 1\n# nccl: 2..30.\n", "a.csv:2: nccl"},
       {"# ncclprobe tuner table: 1\n# gpu: a\x1b[31m\n", "a.csv:2: gpu"},
       {"# ncclprobe tuner table: 1\n# gpu\n", "a.csv:2: "},
       {"# ncclprobe tuner table: 1\ncollective,min_bytes\n", "a.csv:2: "},
       {k_top.substr(0, 40), "a.csv:2: "},
       {k_top + "\n", "a.csv:4: 1 fields"},
       {k_top + "# gpu: H200\n", "a.csv:4: "},
       {k_top + k_good + "all_reduce,1,2,8,1,1x8,Ring,LL128,16,\n", "a.csv:5: 10 fields"},
       {k_top + "allreduce,1,2,8,1,1x8,Ring,LL128,16,,\n", "a.csv:4: collective: "},
       {k_top + "all_to_all,1,2,8,1,1x8,Ring,LL128,16,,\n", "a.csv:4: "},
       {k_top + "all_reduce,1K,2,8,1,1x8,Ring,LL128,16,,\n", "a.csv:4: min_bytes: '1K'"},
       {k_top + "all_reduce,3,2,8,1,1x8,Ring,LL128,16,,\n", "a.csv:4: max_bytes: '2'"},
       {k_top + "all_reduce,1,18446744073709551616,8,1,1x8,Ring,LL128,16,,\n",
        "a.csv:4: max_bytes"},
       {k_top + "all_reduce,1,2,1,1,1x8,Ring,LL128,16,,\n", "a.csv:4: ranks"},
       {k_top + "all_reduce,1,2,-1,1,1x8,Ring,LL128,16,,\n", "a.csv:4: ranks"},
       {k_top + "all_reduce,1,2,8,9,1x8,Ring,LL128,16,,\n", "a.csv:4: nodes"},
       {k_top + "all_reduce,1,2,8,1,8,Ring,LL128,16,,\n", "a.csv:4: nvlink_domains"},
       {k_top + "all_reduce,1,2,8,1,1x8-4,Ring,LL128,16,,\n", "a.csv:4: nvlink_domains"},
       {k_top + "all_reduce,1,2,8,1,1x8,ring,LL128,16,,\n", "a.csv:4: algorithm: 'ring'"},
       {k_top + "all_reduce,1,2,8,1,1x8,Ring,LL129,16,,\n", "a.csv:4: protocol: 'LL129'"},
       {k_top + "all_reduce,1,2,8,1,1x8,Ring,,16,,\n", "a.csv:4: "},
       {k_top + "all_reduce,1,2,8,1,1x8,Ring,LL128,0,,\n", "a.csv:4: channels: '0'"},
       {k_top + "all_reduce,1,2,8,1,1x8,Ring,LL128,65,,\n", "a.csv:4: channels: '65'"},
       {k_top + "all_reduce,1,2,8,1,1x8,Ring,LL128,,,\n", "a.csv:4: channels: ''"},
       {k_top + "all_reduce,1,2,8,1,1x8,Ring,LL128,16,1,\n", "a.csv:4: max_us: ''"},
       {k_top + "all_reduce,1,2,8,1,1x8,Ring,LL128,16,nan,1\n", "a.csv:4: min_us: 'nan'"},
       {k_top + "all_reduce,1,2,8,1,1x8,,,-1,,\n", "a.csv:4: "}}));
  CAPTURE(text);

  CHECK_THAT(error_of(text).message, Catch::Matchers::StartsWith(start));
}

TEST_CASE("rows that apply to one communicator may not overlap") {
  auto second = [](const std::string& row) { return parse_table(k_top + k_good + row, "a.csv"); };

  CHECK_THAT(error_of(k_top + k_good + "all_reduce,2048,4096,8,1,1x8,Tree,LL,4,,\n").message,
             Catch::Matchers::StartsWith("a.csv:5: the row overlaps that of line 4"));
  CHECK_THAT(error_of(k_top + k_good + "all_reduce,0,9999,8,1,any,Tree,LL,4,,\n").message,
             Catch::Matchers::StartsWith("a.csv:5: "));
  CHECK(second("all_reduce,2049,4096,8,1,1x8,Tree,LL,4,,\n"));
  CHECK(second("all_reduce,0,1023,8,1,any,Tree,LL,4,,\n"));
  CHECK(second("all_reduce,1024,2048,8,1,2x4,Tree,LL,4,,\n"));
  CHECK(second("all_reduce,1024,2048,8,2,1x8,Tree,LL,4,,\n"));
  CHECK(second("all_gather,1024,2048,8,1,1x8,Ring,LL,4,,\n"));
}

TEST_CASE("a table has limits") {
  std::string rows;
  for (std::size_t i = 0; i < k_most_rows; ++i)
    rows += fmt::format("all_reduce,{0},{0},8,1,any,Ring,LL,1,,\n", i);
  CHECK(parse_table(k_top + rows, "a.csv"));
  CHECK_THAT(error_of(k_top + rows + "all_gather,1,1,8,1,any,Ring,LL,1,,\n").message,
             Catch::Matchers::StartsWith("a.csv:10004: "));
  CHECK_THAT(error_of(k_top + std::string(k_most_table_bytes, ',')).message,
             Catch::Matchers::StartsWith("a.csv: more than"));
}

TEST_CASE("what is written has no line breaks of a value") {
  Table table;
  table.header.machine = "a\n# gpu: forged";
  auto read = parse_table(to_text(table), "a.csv");
  REQUIRE(read);
  CHECK(read->header.gpu.empty());
}

// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/proof/proof_runs.h"
#include "analysis/tuner_check/row_check.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis_test;
using model::Collective;
using tuning::Algorithm;
using tuning::Protocol;

namespace {

tuning::Row row(Algorithm algorithm, Protocol protocol, std::uint64_t min = 1024,
                std::uint64_t max = 1024, Collective collective = Collective::all_reduce) {
  return {collective,
          min,
          max,
          2,
          1,
          std::nullopt,
          tuning::Choice{algorithm, protocol},
          tuning::k_keep_channels,
          std::nullopt};
}

tuning::TableFile table_of(std::vector<tuning::Row> rows) {
  return {{{}, std::move(rows)}, std::string(64, 'a')};
}

RowCheck only(const tuning::Row& one, const RowEvidence& evidence) {
  auto checks = check_rows(table_of({one}), evidence);
  REQUIRE(checks);
  REQUIRE(checks->size() == 1);
  return checks->front();
}

// The reason's id; empty without one.
std::string_view why(const RowCheck& check) {
  return check.reason ? check.reason->kind->id : "";
}

// Two settings of it reduce 1 KiB on 2 ranks by Ring with LL, one by Tree with LL.
model::Run tuned_run() {
  model::Run run = proof_run();
  run.header.environment.push_back({"NCCL_TUNER_PLUGIN", "/opt/lib/libncclprobe-tuner.so"});
  return run;
}

} // namespace

TEST_CASE("counts of several processes are those of the same calls") {
  auto table =
      table_of({row(Algorithm::ring, Protocol::ll), row(Algorithm::tree, Protocol::ll, 1, 9),
                row(Algorithm::nvls, Protocol::simple, 10, 19)});
  RowEvidence evidence;
  evidence.hits = {{table.sha256, 3, 0, {{7, 0}, {0, 0}, {0, 4}}},
                   {table.sha256, 3, 0, {{9, 0}, {0, 0}, {0, 4}}}};

  auto checks = check_rows(table, evidence);

  REQUIRE(checks);
  CHECK((*checks)[0].state == RowState::hit);
  CHECK((*checks)[0].calls == 9);
  CHECK((*checks)[0].number == 1);
  CHECK((*checks)[1].state == RowState::never);
  CHECK((*checks)[2].state == RowState::impossible);
  CHECK(why((*checks)[2]) == "not_offered");
  CHECK((*checks)[2].reason->values == Object{{"calls", 4U}});
}

TEST_CASE("hits of another table say nothing") {
  RowEvidence evidence;
  evidence.hits = {{std::string(64, 'b'), 0, 0, {{1, 0}}}};
  auto checks = check_rows(table_of({row(Algorithm::ring, Protocol::ll)}), evidence);
  REQUIRE(!checks);
  CHECK(checks.error().code == Errc::mismatch);
}

TEST_CASE("a run shows which of its cells ran as a row says") {
  const model::Run run = tuned_run();
  RowEvidence evidence{.hits = {}, .run = &run, .environment = {}};

  RowCheck ring = only(row(Algorithm::ring, Protocol::ll), evidence);
  CHECK(ring.state == RowState::hit);
  CHECK(ring.calls == 2);
  RowCheck otherwise = only(row(Algorithm::tree, Protocol::simple), evidence);
  CHECK(otherwise.state == RowState::never);
  CHECK(why(otherwise) == "ran_differently");
  RowCheck other_size = only(row(Algorithm::ring, Protocol::ll, 2048, 4096), evidence);
  CHECK(other_size.state == RowState::never);
  CHECK(why(other_size) == "no_call");
  tuning::Row other_ranks = row(Algorithm::ring, Protocol::ll);
  other_ranks.ranks = 4;
  CHECK(only(other_ranks, evidence).state == RowState::never);
  tuning::Row two_nodes = row(Algorithm::ring, Protocol::ll);
  two_nodes.nodes = 2;
  CHECK(only(two_nodes, evidence).state == RowState::never);
}

TEST_CASE("a variable beats a row") {
  const tuning::Row tree = row(Algorithm::tree, Protocol::ll);
  auto with = [&](const char* name, const char* value) {
    return only(tree, {.hits = {}, .run = nullptr, .environment = {{name, value}}});
  };
  CHECK(with("NCCL_ALGO", "Ring").state == RowState::overridden);
  CHECK(with("NCCL_ALGO", "Ring").reason->values ==
        Object{{"variable", "NCCL_ALGO"}, {"value", "Ring"}, {"word", "Tree"}});
  CHECK(with("NCCL_ALGO", "allgather:ring").state == RowState::unchecked);
  CHECK(why(with("NCCL_PROTO", "^LL")) == "excluded");
  CHECK(why(with("NCCL_TUNER_PLUGIN", "/opt/libother.so")) == "other_plugin");
  CHECK(with("NCCL_TUNER_PLUGIN", "libncclprobe-tuner.so").state == RowState::unchecked);
  CHECK(with("NCCL_DEBUG", "INFO").state == RowState::unchecked);

  model::Run run = proof_run();
  RowEvidence of_run{.hits = {}, .run = &run, .environment = {}};
  CHECK(why(only(row(Algorithm::ring, Protocol::ll), of_run)) == "no_plugin");
  run = tuned_run();
  run.header.environment.push_back({"NCCL_ALGO", "Ring"});
  CHECK(why(only(row(Algorithm::tree, Protocol::simple), of_run)) == "excluded");
}

TEST_CASE("a limit of channels beats a row with more") {
  tuning::Row channels = row(Algorithm::ring, Protocol::ll);
  channels.channels = 16;
  for (const auto& [most, state] :
       {std::pair{"8", RowState::overridden}, std::pair{"16", RowState::unchecked}})
    for (const char* name : {"NCCL_MAX_CTAS", "NCCL_MAX_NCHANNELS"})
      CHECK(only(channels, {.environment = {{name, most}}}).state == state);
}

TEST_CASE("a job has no communicator that is larger than itself") {
  struct Row {
    int ranks, nodes; // of the row
    RowState state;
  };
  const RowEvidence evidence{.shape = {.ranks = 16, .nodes = 2}};
  for (const auto& [ranks, nodes, state] :
       {Row{16, 2, RowState::unchecked}, Row{8, 1, RowState::unchecked}, // of a node
        Row{2, 2, RowState::unchecked},                                  // one GPU of each
        Row{16, 1, RowState::impossible}, Row{32, 2, RowState::impossible},
        Row{16, 4, RowState::impossible}}) {
    tuning::Row one = row(Algorithm::ring, Protocol::ll);
    one.ranks = ranks;
    one.nodes = nodes;
    INFO(ranks << " on " << nodes);
    CHECK(only(one, evidence).state == state);
    CHECK(only(one, {}).state == RowState::unchecked);
  }
}

TEST_CASE("the table is not used with another NCCL, and an old one lacks algorithms") {
  model::Run run = tuned_run();
  RowEvidence evidence{.hits = {}, .run = &run, .environment = {}};
  tuning::TableFile table = table_of({row(Algorithm::tree, Protocol::simple)});
  table.table.header.nccl = "2.30.7";
  for (model::HostInventory& host : run.header.hosts)
    std::erase_if(host.libraries, [](const auto& one) { return one.name == "nccl"; });
  CHECK(check_rows(table, evidence).value()[0].state == RowState::never);
  run.header.hosts.at(0).libraries.push_back({"nccl", "2.30.7", "", ""});
  CHECK(check_rows(table, evidence).value()[0].state == RowState::never);
  run.header.hosts.at(0).libraries.back().version = "2.28.9";
  CHECK(check_rows(table, evidence).value()[0].state == RowState::overridden);
  CHECK(check_rows(table, evidence).value()[0].reason->values ==
        Object{{"table", "2.30.7"}, {"nccl", "2.28.9"}});

  tuning::TableFile pat =
      table_of({row(Algorithm::pat, Protocol::simple, 1, 2, Collective::all_gather)});
  pat.table.rows[0].nodes = 2; // one rank each
  CHECK(check_rows(pat, {}).value()[0].state == RowState::unchecked);
  pat.table.header.nccl = "2.22.3";
  CHECK(check_rows(pat, {}).value()[0].reason->values ==
        Object{{"nccl", "2.22.3"}, {"algorithm", "PAT"}});
}

TEST_CASE("what NCCL cannot do is known without evidence") {
  for (const tuning::Row& one :
       {row(Algorithm::tree, Protocol::ll, 1, 2, Collective::broadcast),
        row(Algorithm::pat, Protocol::simple), row(Algorithm::nvls, Protocol::ll),
        row(Algorithm::nvls_tree, Protocol::simple)}) {
    CHECK(only(one, {}).state == RowState::impossible);
    CHECK(why(only(one, {})) == "cannot");
  }
  CHECK(only(row(Algorithm::nvls, Protocol::simple), {}).state == RowState::unchecked);
  CHECK(only(row(Algorithm::tree, Protocol::ll128), {}).state == RowState::unchecked);
  tuning::Row channels = row(Algorithm::ring, Protocol::ll);
  channels.choice.reset();
  channels.channels = 4;
  CHECK(only(channels, {}).state == RowState::unchecked);
  const model::Run run = tuned_run();
  CHECK(only(channels, {.hits = {}, .run = &run, .environment = {}}).calls == 3);
}

// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// What people and programs get of a check: text, CSV, and the schema in docs/schemas.
#include "analysis/fleet/fleet_report.h"
#include "analysis/report_value/report_writers.h"
#include "support/catch.h"
#include "support/golden.h"
#include "support/json_schema.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis::fleet;
using namespace ncclprobe::support;

namespace {

// Good ones, in one row of meetings each.
Checked check_of(int nodes) {
  Checked checked;
  checked.options = {.nodes = nodes, .rails = 8};
  for (int node = 0; node < nodes; ++node) {
    checked.names.push_back("node" + std::to_string(node));
    NodeVerdict verdict{.standing = Standing::good};
    verdict.paths.assign(9, {Standing::good, SpeedEstimate{1.002, {0.98, 1.02}, 0, 5}});
    checked.judgement.nodes.push_back(verdict);
  }
  checked.backend = "nvidia";
  checked.collective = "all_reduce";
  checked.bytes = 64 << 20;
  checked.ranks_per_node = 8;
  checked.usual_gb_per_s = 45.2;
  checked.rounds = 6;
  checked.meetings = 3 * nodes;
  checked.judgement.usual_ns.assign(9, 1.5e6);
  checked.judgement.noise = 0.012;
  checked.run_file = "check.h5";
  return checked;
}

void make_bad(Checked& checked, int node, int rail) {
  NodeVerdict& one = checked.judgement.nodes[static_cast<std::size_t>(node)];
  one.standing = Standing::bad;
  one.paths[0] = {Standing::bad, SpeedEstimate{0.8, {0.78, 0.82}, 6, 6}};
  one.paths[static_cast<std::size_t>(rail) + 1] = {Standing::bad,
                                                   SpeedEstimate{0.61, {0.58, 0.64}, 6, 6}};
  one.bad_rails = {rail};
}

void make_failed(Checked& checked, int node) {
  NodeVerdict& one = checked.judgement.nodes[static_cast<std::size_t>(node)];
  one = {.standing = Standing::failed,
         .paths = one.paths,
         .fault_reason = Reason::crashed,
         .fault = "its worker's end: signal 9"};
}

// All kinds of results.
Checked bad_check() {
  Checked checked = check_of(20);
  make_bad(checked, 17, 3);
  make_failed(checked, 4);
  checked.judgement.nodes[2].standing = Standing::undecided;
  checked.judgement.nodes[2].broken = 1;
  checked.judgement.groups = {
      {{1, 6}, std::nullopt, Standing::bad, SpeedEstimate{0.5, {0.48, 0.52}, 3, 3}},
      {{3, 5}, 2, Standing::undecided, std::nullopt},
      {{1, 3, 5}, 2, Standing::bad, SpeedEstimate{0.6, {0.58, 0.62}, 3, 3}},
      {{6, 7, 8}, std::nullopt, Standing::undecided, std::nullopt}};
  checked.options.large_group = 3;
  checked.judgement.large_usual_ns = 2e6;
  checked.judgement.large_undecided = 1;
  checked.judgement.not_compared = 1;
  checked.large_usual_gb_per_s = 58.7;
  checked.judgement.rails = {{0, 1, false}, {1, 0.8, true}, {2, 1, false}};
  checked.baseline = {"last-week.h5", 0.9, {0.89, 0.91}, true, 2};
  checked.judgement.nodes[17].against_baseline.assign(
      9, {Standing::bad, SpeedEstimate{0.62, {0.57, 0.67}, 6, 6}});
  checked.why_incomplete = "node4 no longer answers";
  return checked;
}

int lines_of(const std::string& text) {
  return static_cast<int>(std::ranges::count(text, '\n'));
}

} // namespace

TEST_CASE("A bad node is named with ratio, interval, evidence and rail, and with commands") {
  const std::string text = write_text(fleet_report(bad_check()));

  CHECK(text.find("20 nodes, 1 bad, 1 failed, 1 not decided, 17 good") != std::string::npos);
  CHECK(text.find("node17: 0.61x [0.58, 0.64], slow in 6 of 6, rail 3; 0.62x [0.57, 0.67] of the "
                  "baseline") != std::string::npos);
  CHECK(text.find("group node1, node3, node5: 0.60x") != std::string::npos);
  CHECK(text.find("; 1 node not decided when the rounds ended") != std::string::npos);
  CHECK(
      text.find("scontrol update NodeName=node17 State=DRAIN "
                "Reason='ncclprobe: 0.61x [0.58, 0.64], slow in 6 of 6, rail 3; 0.62x [0.57, 0.67] "
                "of the baseline'") != std::string::npos);
  CHECK(text.find("kubectl cordon node17") != std::string::npos);
  // A quote in a reason stays within the word.
  CHECK(text.find(R"(Reason='ncclprobe: its worker'\''s end: signal 9')") != std::string::npos);
}

TEST_CASE("A hostile host name is neither an option nor a list of hosts in the commands") {
  Checked checked = check_of(4);
  make_failed(checked, 1);
  make_failed(checked, 2);
  checked.names[1] = "--all";
  checked.names[2] = "node[0-3]";

  const std::string text = write_text(fleet_report(checked));

  CHECK(text.find("scontrol update NodeName=--all State=DRAIN") != std::string::npos);
  CHECK(text.find("NodeName='node[0-3]'") == std::string::npos);
  CHECK(text.find("kubectl cordon -- --all\n") != std::string::npos);
  CHECK(text.find("kubectl cordon 'node[0-3]'\n") != std::string::npos);
}

TEST_CASE("Good nodes are counted, and a check of 1,000 fits a screen, however many are bad") {
  const Checked good = check_of(1000);
  Checked bad = check_of(1000);
  for (int node = 0; node < 200; ++node)
    make_bad(bad, node, 3);

  CHECK(lines_of(write_text(fleet_report(good))) <= 8);
  CHECK(lines_of(write_text(fleet_report(bad))) <= 45);
  CHECK(!names_any(good));
  CHECK(names_any(bad));
}

TEST_CASE("The report says why there is no usual speed of larger groups") {
  Checked checked = check_of(12);
  checked.options.large_group = 4;
  auto says = [&](const char* words) {
    return write_text(fleet_report(checked)).find(words) != std::string::npos;
  };

  CHECK(says("of 4 nodes were not measured: not all nodes are decided"));
  checked.judgement.first_decided = true;
  CHECK(says("of 4 nodes were not measured: too few nodes or rounds are left"));
  checked.judgement.large_measured = 5;
  CHECK(says("of 4 nodes: none of 5 groups finished"));
}

TEST_CASE("Programs get the reason as a word") {
  Checked checked = bad_check();
  checked.judgement.nodes[7].standing = Standing::bad; // on all rails
  checked.judgement.nodes[8] = {.standing = Standing::undecided,
                                .paths = std::vector<PathVerdict>(9)};
  checked.judgement.nodes[9].standing = Standing::undecided;
  checked.judgement.groups.push_back(
      {{10, 11}, 2, Standing::bad, SpeedEstimate{0.5, {0.48, 0.52}, 3, 3}});
  checked.judgement.groups.push_back(
      {{12, 13}, std::nullopt, Standing::undecided, SpeedEstimate{0.9, {0.7, 1.1}, 1, 3}});
  for (const auto& [node, evidence] :
       std::map<std::size_t, Evidence>{{14, Evidence::large_groups}, {15, Evidence::baseline}}) {
    NodeVerdict& one = checked.judgement.nodes[node];
    one.standing = Standing::bad;
    one.evidence = evidence;
    one.large_groups = one.against_baseline = one.paths;
  }

  const auto document = nlohmann::json::parse(written(fleet_report(checked), Format::json));

  for (const auto& [node, reason] : std::map<std::size_t, const char*>{{0, "none"},
                                                                       {2, "not_finished"},
                                                                       {4, "crashed"},
                                                                       {7, "slow"},
                                                                       {8, "not_measured"},
                                                                       {9, "not_decided"},
                                                                       {14, "slow_in_groups"},
                                                                       {15, "got_slower"},
                                                                       {17, "slow_rails"}})
    CHECK(document["nodes"][node]["reason_id"] == reason);
  std::vector<std::string> links;
  for (const auto& link : document["links"])
    links.push_back(link["reason_id"]);
  CHECK(links == std::vector<std::string>{"slow", "not_finished", "slow_rails", "not_decided"});
  CHECK(document["baseline"]["not_compared_nodes"] == 1);
  CHECK(document["large_groups"]["results"][0]["nodes"] ==
        nlohmann::json({"node1", "node3", "node5"}));
  CHECK(document["large_groups"]["results"][0]["reason_id"] == "slow_rails");
}

TEST_CASE("CSV has a row for each node") {
  std::string csv;
  write_csv(fleet_report(bad_check()), [&](std::string_view piece) { csv += piece; });

  CHECK(lines_of(csv) == 21);
  CHECK(csv.find("node17,bad,0.61,0.58,0.64,6,6,0.62,0.57,0.67,") != std::string::npos);
  CHECK(csv.find("node4,failed,") != std::string::npos);
}

TEST_CASE("The JSON of a fleet check has the fields and types of its schema") {
  JsonSchema schema;
  schema.add_names("severity", Severity{});
  schema.add_names("state", Standing{});
  schema.add_names("reason_id", Reason{});
  Checked never = check_of(4);
  for (NodeVerdict& node : never.judgement.nodes)
    node = {.standing = Standing::undecided, .paths = std::vector<PathVerdict>(9)};
  never.usual_gb_per_s = 0;
  for (const Checked& one : {check_of(8), bad_check(), never})
    schema.add(written(fleet_report(one), Format::json));

  check_document("docs/schemas/fleet_check.json",
                 schema.text("ncclprobe fleet check --format json"));
}

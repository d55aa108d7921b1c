// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// What programs may rely on in the JSON of procurement: docs/schemas.
#include "analysis/procure/nodes.h"
#include "analysis/procure/procurement.h"
#include "analysis/procure/procurement_report.h"
#include "analysis/report/written.h"
#include "support/catch.h"
#include "support/golden.h"
#include "support/json_schema.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis::procure;
using namespace ncclprobe::analysis_test;
using namespace ncclprobe::support;

namespace {

std::vector<NodeType> measured_nodes() {
  NodeType rented = node_of("rented", {run_of(around(1))}, 30);
  rented.files = {"a.h5"};
  NodeType bought = node_of("bought", {run_of(around(2))}, 20);
  bought.price = {.purchase = 120'000, .years = 4};
  return {rented, bought, node_of("rented too", {run_of(around(2))}, 20)};
}

std::vector<NodeType> published_nodes() {
  NodeType known = published_t4();
  known.rates = {.flops_per_s = PublishedRate{300e12, 200e12, "x"},
                 .bus_gb_per_s = PublishedRate{300, 200, "x"},
                 .memory_gb_per_s = PublishedRate{2000, 1500, "x"},
                 .most_latency_ns = 20'000};
  known.price.per_kwh = 0.25;
  return {known, published_t4(), NodeType{.name = "unknown", .published = true}};
}

} // namespace

TEST_CASE("The JSON of procurement has the fields and types of its schema") {
  JsonSchema schema;
  schema.add_names("severity", Severity{});
  schema.add_names("from", Origin{});
  schema.add_names("quantity", Quantity{});
  schema.add_names("verdict", Verdict{});
  const Workload unknown{.model = "gpt2-124m"};
  for (const Procurement& all :
       {procurement_of(measured_nodes(), {k_m}), procurement_of(measured_nodes(), {k_m, unknown}),
        procurement_of(published_nodes(), {k_linear})})
    schema.add(written(procurement_report(all), Format::json));
  // All of these are decided. Another difference may not be.
  schema.add_at("differences/*/why_not_decided", "\"words\"");
  schema.add_at("differences/*/why_not_decided_id", "\"id\"");
  schema.add_at("differences/*/why_not_decided_values", "{}");

  check_document("docs/schemas/procurement.json",
                 schema.text("ncclprobe compare --procure NODES --format json"));
}

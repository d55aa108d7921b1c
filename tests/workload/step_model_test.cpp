// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "workload/models/catalogue.h"
#include "workload/step_model.h"
#include "workload/step_schedules.h"

#include <algorithm>
#include <set>

using namespace ncclprobe;
using namespace ncclprobe::workload;

namespace {

std::vector<ParameterAt> all_ready(const StepModel& model) {
  std::vector<ParameterAt> all;
  for (auto layer = model.layers.rbegin(); layer != model.layers.rend(); ++layer) {
    for (auto one = layer->products.rbegin(); one != layer->products.rend(); ++one)
      all.insert(all.end(), one->ready.begin(), one->ready.end());
    all.insert(all.end(), layer->ready.begin(), layer->ready.end());
  }
  return all;
}

} // namespace

TEST_CASE("the backward pass has each gradient ready once, in the order of arrival") {
  for (const KnownModel& known : known_models()) {
    CAPTURE(known.name);
    ModelSpec spec = make_model(known.name).value();

    CHECK(all_ready(make_step_model(spec)) == arrival_order(spec));
  }
}

TEST_CASE("a product's weights are ready with it, and its bias before them") {
  StepModel model = make_step_model(tests::small_model());
  const StepLayer& attention = model.layers[1];

  CHECK(attention.products[3].ready == std::vector<ParameterAt>{{1, 4}, {1, 3}});
  CHECK(attention.products[1].ready.empty());
  CHECK(attention.products[0].ready == std::vector<ParameterAt>{{1, 2}, {1, 1}});
  CHECK(attention.ready == std::vector<ParameterAt>{{1, 0}});
  CHECK(attention.products[0].weights == ParameterAt{1, 1});
}

TEST_CASE("a head that shares the embedding's weights reads those, and leaves no gradient") {
  StepModel model = make_step_model(tests::small_model());

  CHECK(model.layers.back().products[0].weights == ParameterAt{0, 0});
  CHECK(model.layers.back().products[0].ready.empty());
  CHECK(model.layers.front().ready == std::vector<ParameterAt>{{0, 0}});
}

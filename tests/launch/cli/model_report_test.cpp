// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/written.h"
#include "launch/cli/models/model_report.h"
#include "support/catch.h"
#include "workload/models/catalogue.h"

namespace ncclprobe::cli {
namespace {

using analysis_test::json_of;
using analysis_test::text_of;
using workload::ModelSpec;

ModelSpec listed_model(std::string_view name) {
  return base::value_or_throw(workload::make_model(name));
}

TEST_CASE("the catalogue is listed") {
  const analysis::Report report = known_models_report();

  CHECK_THAT(text_of(report), ContainsSubstring("resnet50          25,557,032       -         -"
                                                "    8.178  torchvision resnet50 (v1.5)"));
  CHECK_THAT(text_of(report), ContainsSubstring("linear:WIDTHxDEPTH"));
  const auto json = json_of(report, "models");
  CHECK(json.size() == workload::known_models().size());
  CHECK(json.at(0).at("parameters") == 25'557'032);
  CHECK(json.at(0).at("parameters_source") != "");
}

TEST_CASE("a model's layers are listed with what they synchronise and compute") {
  const ModelSpec spec = listed_model("gpt2-124m:1");

  CHECK(text_of(model_report(spec)) ==
        R"(gpt2-124m:1: 46,473,216 parameters, 96.8 GFLOP in a sample's forward pass of 1024 tokens
layer                 kind       block  parameters      output  products (rows x n x k)
transformer.wte       embedding      -  39,383,808     786,432
transformer.h.0.ln_1  other          0       1,536     786,432
transformer.h.0.attn  attention      0   2,362,368     786,432  1024x2304x768, 12 of 1024x1024x64,
                                                                  12 of 1024x64x1024, 1024x768x768
transformer.h.0.ln_2  other          0       1,536     786,432
transformer.h.0.mlp   mlp            0   4,722,432     786,432  1024x3072x768, 1024x768x3072
transformer.ln_f      other          -       1,536     786,432
lm_head               head           -           0  51,463,168  1024x50257x768
)");
}

TEST_CASE("DDP's buckets are listed by what is first and last in them") {
  const ModelSpec spec = listed_model("linear:1024x4");

  CHECK(text_of(ddp_buckets_report(spec, {})) ==
        R"(linear:1024x4: 2 DDP buckets of f32 gradients, rebuilt, limits 1.00 and 25.00 MiB
bucket    MiB  gradients  first and last
     0   4.00          2  3.bias 3.weight
     1  12.01          6  2.bias 0.weight
)");
  CHECK_THAT(text_of(ddp_buckets_report(spec, {.order = workload::BucketOrder::first_step})),
             ContainsSubstring("1 DDP bucket of f32 gradients, first-step\n"));
  const ModelSpec llama = listed_model("llama3-8b:1");
  CHECK_THAT(text_of(ddp_buckets_report(llama, {})),
             ContainsSubstring("model.norm.weight model.layers.0.mlp.down_proj.weight\n"));

  const auto json = json_of(ddp_buckets_report(spec, {.type = model::DataType::bf16}));
  CHECK(json.at("order") == "rebuilt");
  CHECK(json.at("buckets")[0].at("bytes") == 2 * (1024 + 1024 * 1024));
  CHECK(json.at("buckets")[0].at("completed_by") == "3");
  CHECK(json.at("buckets")[0].at("parameters") == nlohmann::json::array({"3.bias", "3.weight"}));
}

} // namespace
} // namespace ncclprobe::cli

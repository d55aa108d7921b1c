// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/exit_code.h"
#include "cli/predict_options.h"
#include "support/catch.h"

#include <sstream>

using namespace ncclprobe;
using namespace ncclprobe::cli;

namespace {

std::variant<PredictOptions, int> parse(const std::vector<std::string>& arguments,
                                        std::string* complaint = nullptr) {
  std::ostringstream out, err;
  auto parsed = parse_predict_arguments(arguments, out, err);
  if (complaint)
    *complaint = err.str();
  return parsed;
}

} // namespace

TEST_CASE("predict takes ranks and what is between nodes") {
  auto parsed = parse(
      {"run.h5", "--model", "llama2-7b", "--ranks", "16,64,512", "--inter-node", "50GB/s,5us"});

  REQUIRE(std::holds_alternative<PredictOptions>(parsed));
  const auto& request = std::get<PredictOptions>(parsed).request;
  CHECK(request.ranks == std::vector{16, 64, 512});
  CHECK(request.inter_node->bytes_per_ns == 50);
  CHECK(request.inter_node->latency_ns == 5000);
  CHECK(parse_inter_node("400Gbit/s,2.5us")->bytes_per_ns == 50);
}

TEST_CASE("predict refuses what it cannot use") {
  std::string complaint;
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{"--inter-node", "50"},
                                             {"--inter-node", "50GB/s,5"},
                                             {"--ranks", "1"},
                                             {"--forward", "10"},
                                             {"--tflops", "400"},
                                             {"--bucket", "x"}}) {
    std::vector<std::string> arguments{"run.h5", "--model", "m"};
    if (more.front() != "--ranks")
      arguments.insert(arguments.end(), {"--ranks", "8"});
    arguments.insert(arguments.end(), more.begin(), more.end());

    auto parsed = parse(arguments, &complaint);

    REQUIRE(std::holds_alternative<int>(parsed));
    CHECK(std::get<int>(parsed) == base::k_exit_usage);
    CHECK_THAT(complaint, ContainsSubstring(more.front()));
  }
}

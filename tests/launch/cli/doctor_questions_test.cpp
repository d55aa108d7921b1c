// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/written.h"
#include "base/exit_code.h"
#include "launch/cli/doctor/doctor_command.h"
#include "launch/cli/doctor/doctor_questions.h"
#include "launch/cli/parsed.h"
#include "support/catch.h"
#include "support/scratch_folder.h"

#include <fstream>

namespace ncclprobe::cli {
namespace {

using analysis_test::json_of;
using analysis_test::text_of;

DoctorQuestions asked(const std::vector<std::string>& words) {
  return cli_test::parsed(doctor_usage, words).questions;
}

bool refused(const std::vector<std::string>& words) {
  return !cli_test::refusal(doctor_usage, words).empty();
}

} // namespace

TEST_CASE("doctor's questions are read from the command line") {
  auto questions = asked({"--gpu", "T4", "--gpu", "sm_90", "--price", "T4=800.5"});
  CHECK(questions.gpus == std::vector<std::string>{"T4", "sm_90"});
  CHECK(questions.prices.at("T4") == 800.5);
  CHECK(questions.any());
  CHECK_FALSE(DoctorQuestions{}.any());
  CHECK(asked({"--log", "-"}).log == "-");
}

TEST_CASE("a price without a GPU is that of any, nodes and a policy ask by themselves") {
  CHECK(asked({"--price", "800"}).prices.at("") == 800);
  CHECK(asked({"--node", "a.json", "--node", "b.h5"}).nodes.size() == 2);
  CHECK(asked({"--node", "a.json"}).any());
  CHECK(asked({"--policy", "p.toml"}).any());
  CHECK(refused({"--policy", "p.toml", "--log", "a"}));
}

TEST_CASE("questions that do not go together and bad prices are refused") {
  CHECK(refused({"--log", "a", "--binary", "b"}));
  CHECK(refused({"--log", "a", "--gpu", "T4"}));
  for (const char* price : {"T4", "T4=", "-1", "", "=5", "T4=-1", "T4=1x", "T4=nan"})
    CHECK(refused({"--price", price}));
}

TEST_CASE("the exit code of a log is its worst severity") {
  support::ScratchFolder folder;
  auto answer = [&](const std::string& log) {
    std::ofstream(folder / "a.log", std::ios::trunc) << log;
    DoctorQuestions questions;
    questions.log = (folder / "a.log").string();
    return answer_question({}, questions).value().exit_code;
  };

  CHECK(answer("all is well\n") == base::k_exit_ok);
  CHECK(answer("[rank1]: CUDA out of memory\n") == base::k_exit_failures);
  CHECK(answer("frobnicate: ERROR: widget\n") == base::k_exit_warnings);
}

TEST_CASE("what cannot be answered says what to give instead") {
  DoctorQuestions questions;
  questions.log = "/nonexistent/a.log";
  CHECK(answer_question({}, questions).error().code == base::Errc::not_found);
  questions = {};
  questions.gpus = {"Frobnicator"};
  CHECK_THAT(answer_question({}, questions).error().text(), ContainsSubstring("sm_89"));
}

TEST_CASE("a named GPU is explained without looking at this machine") {
  DoctorQuestions questions;
  questions.gpus = {"T4"};

  auto answer = answer_question({}, questions);
  REQUIRE(answer);
  CHECK(json_of(answer->report)["gpus"][0]["compute_capability"] == "7.5");
}

TEST_CASE("a GPU that is not known does not cost the answer for the others") {
  DoctorQuestions questions;
  questions.gpus = {"T4", "MI300X", "Frobnicator"};

  auto text = answer_question({}, questions);
  REQUIRE(text);
  CHECK_THAT(text_of(text->report),
             ContainsSubstring("7.5 (sm_75)") &&
                 ContainsSubstring("Not known      'MI300X' comes from AMD") &&
                 ContainsSubstring("Not known      'Frobnicator'"));
  CHECK(text->exit_code == base::k_exit_warnings);
  auto json = json_of(text->report);
  CHECK(json["gpus"].size() == 1);
  REQUIRE(json["unknown"].size() == 2);
  CHECK_THAT(json["unknown"][0]["hint"].get<std::string>(), ContainsSubstring("RCCL"));

  questions.gpus = {"MI300X"};
  CHECK(answer_question({}, questions).error().code == base::Errc::invalid_argument);
}

TEST_CASE("whether a wheel runs is answered for each GPU, and by the exit code") {
  auto answer = [](const std::string& wheel, std::vector<std::string> gpus) {
    DoctorQuestions questions;
    questions.wheel = wheel;
    questions.gpus = std::move(gpus);
    return answer_question({}, questions);
  };
  auto code = [&](const std::string& wheel, std::vector<std::string> gpus) {
    return answer(wheel, std::move(gpus))->exit_code;
  };
  CHECK(code("torch==2.8+cu128", {"RTX 4090"}) == base::k_exit_ok);
  CHECK(code("torch==2.8+cu128", {"RTX 4090", "GTX 1080"}) == base::k_exit_failures);
  CHECK(code("torch==9.9", {"RTX 4090"}) == base::k_exit_warnings);
  CHECK(code("torch==2.8+cu128", {"RTX 4090", "Frobnicator"}) == base::k_exit_warnings);
  CHECK(code("torch==2.8+cu128", {"GTX 1080", "Frobnicator"}) == base::k_exit_failures);

  auto json = json_of(answer("torch==2.8+cu128", {"GTX 1080", "MI300X"})->report);
  CHECK(json["schema"] == "ncclprobe.wheel_answer");
  CHECK(json["schema_version"] == 1);
  CHECK(json["gpus"][0]["instead"][0]["wheel"] == "torch==2.8.0+cu126");
  CHECK(json["unknown"].size() == 1);

  auto refused = answer("numpy==2.8", {"RTX 4090"});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == base::Errc::invalid_argument);
}

TEST_CASE("a wheel is asked about by itself") {
  CHECK(asked({"--wheel", "torch==2.8", "--gpu", "T4"}).wheel == "torch==2.8");
  CHECK(asked({"--wheel", "torch==2.8"}).any());
  for (const char* other : {"--log", "--binary", "--policy", "--price"})
    CHECK(refused({"--wheel", "torch==2.8", other, "1"}));
  CHECK(refused({"--wheel", "torch==2.8", "--explain-gpu"}));
}

TEST_CASE("a price of a GPU that is not asked for is refused") {
  DoctorQuestions questions;
  questions.gpus = {"T4", "H200"};
  questions.prices = {{"T4", 800}, {"NVIDIA H200", 30'000}};
  CHECK(answer_question({}, questions));

  questions.prices["A100"] = 3;
  auto refused = answer_question({}, questions);

  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == base::Errc::invalid_argument);
  CHECK_THAT(refused.error().message, ContainsSubstring("--price A100: the GPUs in question are "
                                                        "T4, H200"));
}

TEST_CASE("of several GPUs, the newest software that all run is told") {
  DoctorQuestions questions;
  questions.gpus = {"V100", "RTX 5090"};

  auto answer = answer_question({}, questions);
  REQUIRE(answer);
  CHECK(json_of(answer->report)["common_stack"]["newest_cuda"] == "12.9");
  CHECK_THAT(text_of(answer->report), ContainsSubstring("12.8 to 12.9"));
}

TEST_CASE("the exit code of a policy is whether all suit") {
  support::ScratchFolder folder;
  std::ofstream(folder / "policy.toml") << "min_memory_gb = 40\n";
  auto code = [&](const std::string& gpu) {
    DoctorQuestions questions;
    questions.gpus = {gpu};
    questions.policy = (folder / "policy.toml").string();
    return answer_question({}, questions).value().exit_code;
  };

  CHECK(code("H200") == base::k_exit_ok);
  CHECK(code("T4") == base::k_exit_failures);
  CHECK(code("sm_80") == base::k_exit_warnings); // of 40 GB or 80
}

TEST_CASE("a node that is neither an examination nor a run is named") {
  support::ScratchFolder folder;
  std::ofstream(folder / "node.json") << "{\"surveys\": 1}";
  std::ofstream(folder / "node.h5") << "no run";
  for (const char* name : {"node.json", "node.h5", "absent"}) {
    DoctorQuestions questions;
    questions.nodes = {(folder / name).string()};
    auto answer = answer_question({}, questions);
    REQUIRE_FALSE(answer);
    CHECK_THAT(answer.error().text(), ContainsSubstring(name));
    CHECK((answer.error().code == base::Errc::not_found) == (std::string(name) == "absent"));
  }
}

} // namespace ncclprobe::cli

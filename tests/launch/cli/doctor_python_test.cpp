// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/doctor/doctor_python.h"
#include "support/catch.h"
#include "support/scratch_folder.h"

#include <filesystem>
#include <fstream>

using namespace ncclprobe;
using namespace std::chrono_literals;

namespace {

const std::vector<std::string> k_environment{"PATH=/usr/bin:/bin"};

// Stands in for an interpreter: does what `script` says.
std::string interpreter(const support::ScratchFolder& folder, const std::string& script) {
  std::filesystem::path path = folder.path() / "python";
  std::ofstream(path) << "#!/bin/sh\n" << script;
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path.string();
}

} // namespace

TEST_CASE("what an interpreter says of its PyTorch is read behind what packages print") {
  support::ScratchFolder folder;
  std::string python = interpreter(folder, R"(echo '{"a warning": of a package}'
echo
echo '{"python": "3.12.1", "torch": "2.7.0+cu128", "path": "/venv/torch/__init__.py", "cuda": "12.8", "architectures": ["sm_90"], "nccl": "2.26.2"}'
)");

  auto found = cli::ask_python(python, k_environment);

  CHECK(found.problem.empty());
  CHECK(found.torch == "2.7.0+cu128");
  CHECK(found.cuda == "12.8");
  CHECK(found.architectures == std::vector<std::string>{"sm_90"});
  CHECK(found.nccl == "2.26.2");
}

TEST_CASE("an interpreter that is missing, hangs, fails or answers nonsense is a problem") {
  support::ScratchFolder folder;
  CHECK_THAT(cli::ask_python("/nowhere/python", k_environment).problem,
             ContainsSubstring("/nowhere/python"));
  CHECK_THAT(cli::ask_python(interpreter(folder, "sleep 60\n"), k_environment, 200ms).problem,
             ContainsSubstring("200 ms"));
  CHECK_THAT(cli::ask_python(interpreter(folder, "echo No module named torch >&2; exit 1\n"),
                             k_environment)
                 .problem,
             ContainsSubstring("No module named torch"));
  for (const char* nonsense :
       {"echo hello\n", "echo; echo '{}'\n", "echo; echo '{\"python\": 3}'\n"})
    CHECK_THAT(cli::ask_python(interpreter(folder, nonsense), k_environment).problem,
               ContainsSubstring("not as expected"));
}

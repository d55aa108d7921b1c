// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// D01, D02, D04, D05, D06, D26, D32, D35.
#include "patient.h"

#include "analysis/doctor/diagnosis.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis::doctor;
using test_doctor::found;
using test_doctor::healthy_case;
using test_doctor::healthy_cpu_case;
using test_doctor::value;
using test_doctor::what;
using test_doctor::worst;

namespace {

// For all ranks, because all load the same.
void set_version(Case& one, std::string_view library, const std::string& version) {
  for (model::Survey& survey : one.surveys)
    for (model::Library& each : survey.inventory.libraries)
      if (each.name == library)
        each.version = version;
}

} // namespace

TEST_CASE("a launcher that started more tasks than MPI sees is a failure") {
  Case one = healthy_case();
  one.launcher_problem = "srun started 4 tasks, but MPI sees 1";

  CHECK(worst(one, "D01") == CheckStatus::fail);
}

TEST_CASE("ranks with another NCCL are named") {
  Case one = healthy_case();
  one.surveys.push_back(one.surveys[1]);
  one.surveys[2].ranks = {2};
  one.surveys[2].inventory.libraries[2].version = "2.27.7";

  auto findings = found(one, "D32");

  REQUIRE(findings.front().status == CheckStatus::fail);
  CHECK(findings.front().ranks == std::vector<int>{2});
  CHECK(findings.front().evidence ==
        std::vector<std::string>{"2.27.7: rank 2", "2.28.3: ranks 0,1"});
}

TEST_CASE("of two ranks that differ both are named") {
  Case one = healthy_case();
  one.surveys[1].ncclprobe = "0.2.0";

  CHECK(found(one, "D32").front().ranks == std::vector<int>{0, 1});
}

TEST_CASE("a kernel module of another version than the libraries is a failure") {
  Case one = healthy_case();
  one.surveys[0].host->driver.module_version = "575.57.08";

  CHECK(worst(one, "D02") == CheckStatus::fail);
  CHECK(what(one, "D02").kind == "driver_mismatch");
}

TEST_CASE("GPUs on the bus without a driver module are a failure that names the module") {
  Case one = healthy_cpu_case();
  one.surveys[0].host->driver.nvidia_pci_devices = 2;
  one.surveys[0].host->driver.modules = {{"nouveau", ""}};

  auto findings = found(one, "D02");

  CHECK(findings.front().status == CheckStatus::fail);
  CHECK_THAT(findings.front().fix.text, ContainsSubstring("nouveau"));
}

TEST_CASE("a loaded driver under which CUDA sees no GPU points at CUDA_VISIBLE_DEVICES") {
  Case one = healthy_cpu_case();
  one.surveys[0].host->driver.nvidia_pci_devices = 2;
  one.surveys[0].host->driver.module_version = "580.95.05";
  one.surveys[0].process.environment = {{"CUDA_VISIBLE_DEVICES", ""}};

  auto findings = found(one, "D02");

  CHECK(findings.front().status == CheckStatus::fail);
  CHECK(findings.front().fix.text == "unset CUDA_VISIBLE_DEVICES");
}

TEST_CASE("a CUDA_VISIBLE_DEVICES that hides nothing is not blamed") {
  Case one = healthy_cpu_case();
  one.surveys[0].host->driver.nvidia_pci_devices = 2;
  one.surveys[0].host->driver.module_version = "580.95.05";
  one.surveys[0].inventory.nvidia_problem = "CUDA error 802: system not yet initialized";
  one.surveys[0].process.environment = {{"CUDA_VISIBLE_DEVICES", "0,1"}};

  CheckResult finding = found(one, "D02").front();

  CHECK(finding.status == CheckStatus::fail);
  CHECK_THAT(finding.fix.text, !ContainsSubstring("unset"));
  CHECK(finding.evidence.front() == "CUDA error 802: system not yet initialized");
}

TEST_CASE("NVML that does not start is a mismatch only if it says so") {
  Case one = healthy_case();
  for (model::Survey& survey : one.surveys)
    survey.inventory.libraries[3].problem = "nvmlInit: Insufficient Permissions";
  CHECK(what(one, "D02").kind == "nvml_fails");

  for (model::Survey& survey : one.surveys)
    survey.inventory.libraries[3].problem = "nvmlInit: Driver/library version mismatch";
  CHECK(what(one, "D02").kind == "nvml_mismatch");
}

TEST_CASE("a worker that did not survive looking at the GPUs is a failure") {
  Case one = healthy_cpu_case();
  one.surveys[0].problem = "the survey worker sent nothing for 60000 ms";

  CHECK(worst(one, "D02") == CheckStatus::fail);
}

TEST_CASE(
    "a worker program that answers nothing is a broken installation, and stops the questions") {
  Case one = healthy_cpu_case();
  one.surveys[0].worker_problem = "cannot start /opt/ncclprobe-worker: No such file or directory";
  auto findings = examine(one);
  for (const CheckResult& finding : findings)
    CHECK((finding.id == "D01" || finding.id == "D32"));
  CHECK(findings.front().status == CheckStatus::fail);
  CHECK(findings.front().what.kind == "worker_silent");
  CHECK(findings.front().evidence.front() == one.surveys[0].worker_problem);
  CHECK(diagnose(one, findings).root == "D32");

  one.surveys[0].worker_mismatch = true;
  CHECK(what(one, "D32").kind == "worker_mismatch");
  CHECK(found(one, "D32").size() == 1); // and no agreement of all ranks beside it
}

TEST_CASE("driver and runtime are judged as NVIDIA's compatibility rules say") {
  Case one = healthy_case();
  CHECK(worst(one, "D04") == CheckStatus::ok);

  set_version(one, "cuda_driver", "550.54.14 (CUDA 12.4)");
  CHECK(worst(one, "D04") == CheckStatus::fail); // runtime 13.0 wants 580
  set_version(one, "cuda_runtime", "12.8");
  CHECK(worst(one, "D04") == CheckStatus::warn); // minor-version compatibility
  CHECK(value(what(one, "D04"), "verdict") == "minor_compat");
  set_version(one, "cuda_runtime", "12.1");
  CHECK(worst(one, "D04") == CheckStatus::ok);
  set_version(one, "cuda_runtime", "");
  CHECK(worst(one, "D04") == CheckStatus::unknown);
}

TEST_CASE(
    "the newest CUDA is that of driver and GPUs, and what a newer driver would bring is told") {
  Case one = healthy_case();
  CHECK_THAT(value(what(one, "D04"), "newest"),
             ContainsSubstring("runs CUDA up to 13.0, or up to 13.4 with fewer features") &&
                 ContainsSubstring("the newest CUDA for these GPUs is 13."));

  one.surveys[1].inventory.gpus[0].compute_capability = "7.0"; // one V100 among them
  CHECK(value(what(one, "D04"), "newest").find("13.0,") != std::string::npos);
  one.surveys.erase(one.surveys.begin());
  CHECK(value(what(one, "D04"), "runtime") == "CUDA runtime");
  CHECK(value(what(one, "D04"), "verdict") == "full");
  CHECK(value(what(one, "D04"), "newest") ==
        "the driver runs CUDA up to 12.9, the newest that supports these GPUs");

  set_version(one, "cuda_driver", "535.129.03 (CUDA 12.2)");
  set_version(one, "cuda_runtime", "12.1");
  CHECK_THAT(
      value(what(one, "D04"), "newest"),
      ContainsSubstring("CUDA up to 12.2, or up to 12.9 with fewer features; the newest CUDA "
                        "for these GPUs is 12.9, with all features from driver 575."));
}

TEST_CASE("a driver that is too old has one newest CUDA, and every way out is named") {
  Case one = healthy_case();
  auto become = [&](const char* gpu, const char* capability) {
    for (model::Survey& survey : one.surveys)
      for (model::CudaDevice& each : survey.inventory.gpus) {
        each.name = gpu;
        each.compute_capability = capability;
      }
    return what(one, "D04");
  };
  set_version(one, "cuda_driver", "470.129.06 (CUDA 11.4)");
  set_version(one, "cuda_runtime", "12.1");

  const What a800 = become("NVIDIA A800-SXM4-80GB", "8.0");
  CHECK(worst(one, "D04") == CheckStatus::fail);
  CHECK_THAT(value(a800, "newest"),
             ContainsSubstring("CUDA up to 11.4, or up to 11.8 with fewer features"));
  for (const char* words : {"525.60.13", "530.30.02", "CUDA 11.8", "cuda-compat-12-1"})
    CHECK_THAT(value(a800, "remedies"), ContainsSubstring(words));
  CHECK_THAT(value(become("NVIDIA GeForce RTX 3090", "8.6"), "remedies"),
             !ContainsSubstring("cuda-compat"));

  set_version(one, "cuda_driver", "580.95.05 (CUDA 13.0)");
  set_version(one, "cuda_runtime", "13.3"); // whose driver is not in the tables
  CHECK_THAT(value(become("NVIDIA H200", "9.0"), "remedies"), !ContainsSubstring("unknown"));
}

TEST_CASE("known faults of the NCCL that is loaded are named where they show") {
  Case one = healthy_case();
  set_version(one, "nccl", "2.14.3");
  CHECK(what(one, "D35").kind == "nccl_fault");
  CHECK(value(what(one, "D35"), "version") == "2.14.3");
  CHECK(value(what(one, "D35"), "fault").starts_with("can"));
  CHECK(value(what(one, "D35"), "way_out") == "NCCL 2.15.5, or NCCL_PROTO=^LL128");
  CHECK(worst(one, "D35") == CheckStatus::info);

  set_version(one, "nccl", "2.28.9");
  CHECK(worst(one, "D35") == CheckStatus::ok);
  CHECK(what(one, "D35").kind == "no_nccl_fault");
  CHECK(value(what(one, "D35"), "version") == "2.28.9");
  CHECK(found(healthy_cpu_case(), "D35").empty());
}

TEST_CASE("code for older GPUs and code for newer ones ask for different builds") {
  Case one = healthy_case();
  auto of_capability = [&](const char* text) {
    for (model::Survey& survey : one.surveys)
      for (model::CudaDevice& gpu : survey.inventory.gpus)
        gpu.compute_capability = text;
    return what(one, "D05");
  };
  What old = of_capability("7.0");
  CHECK(value(old, "misfit") == "all code is for newer GPUs");
  CHECK_THAT(value(old, "remedy"),
             ContainsSubstring("CUDA 12.9") && ContainsSubstring("-DNCCLPROBE_CUDA_ARCHS=70"));

  for (model::Survey& survey : one.surveys)
    survey.inventory.worker_version = "ncclprobe-worker 0.1.0, architectures 80,90";
  What fresh = of_capability("12.0");
  CHECK(value(fresh, "misfit") == "all code is for older GPUs");
  CHECK_THAT(value(fresh, "remedy"),
             ContainsSubstring("CUDA 12.8") && ContainsSubstring("-DNCCLPROBE_CUDA_ARCHS=120"));
}

TEST_CASE("a GPU without code in this build is a failure before anything runs") {
  Case one = healthy_case();
  CHECK(worst(one, "D05") == CheckStatus::ok);

  auto set_capability = [&](const char* text) {
    for (model::Survey& survey : one.surveys)
      for (model::CudaDevice& gpu : survey.inventory.gpus)
        gpu.compute_capability = text;
  };
  set_capability("7.5");
  CHECK(worst(one, "D05") == CheckStatus::fail);
  set_capability("8.9"); // runs code for 8.0
  CHECK(worst(one, "D05") == CheckStatus::ok);
  set_capability("12.0"); // PTX of 10.0
  CHECK(worst(one, "D05") == CheckStatus::info);
}

TEST_CASE("an NCCL that is built without these GPUs is a failure that names the file") {
  Case one = healthy_case();
  one.code = {{"/usr/lib/libnccl.so.2.28.3", {"sm_80", "sm_90"}, {"compute_90"}}};
  CHECK(worst(one, "D05") == CheckStatus::ok);

  one.code[0].cubins = {"sm_80", "sm_100"};
  one.code[0].ptx = {"compute_100"};

  auto findings = found(one, "D05");
  CHECK(findings.front().status == CheckStatus::fail);
  CHECK(findings.front().what.kind == "no_code");
  CHECK(value(findings.front().what, "who") == "NCCL's library");
  CHECK_THAT(findings.front().evidence.front(),
             ContainsSubstring("/usr/lib/libnccl.so.2.28.3: sm_80 sm_100"));
  CHECK_THAT(value(findings.front().what, "remedy"), ContainsSubstring("sm_90"));

  one.code[0].cuda = "13.0";
  CHECK(what(one, "D05").kind == "no_code");
  CHECK(value(what(one, "D05"), "who") == "NCCL's library (built with CUDA 13.0)");
}

TEST_CASE("two majors of one library in a process are a failure, twice the same a warning") {
  Case one = healthy_case();
  auto& libraries = one.surveys[1].process.libraries;
  libraries.push_back({"/opt/a/libcudart.so.12.4.127", "libcudart.so.12", "", false});
  CHECK(worst(one, "D06") == CheckStatus::ok);

  libraries.push_back({"/opt/b/libcudart.so.13.0.88", "libcudart.so.13", "", false});
  CHECK(worst(one, "D06") == CheckStatus::fail);
  CHECK(found(one, "D06").front().ranks == std::vector<int>{1});
  libraries.back() = {"/opt/b/libcudart.so.12.6.1", "libcudart.so.12", "", false};
  CHECK(worst(one, "D06") == CheckStatus::warn);
}

TEST_CASE("an RPATH is told of where LD_LIBRARY_PATH is set, and only there") {
  Case one = healthy_case();
  one.surveys[0].process.libraries[1].rpath = true;
  one.surveys[0].process.libraries[1].runpath = "/opt/own/lib";
  CHECK(worst(one, "D06") == CheckStatus::ok);

  one.surveys[0].process.environment = {{"LD_LIBRARY_PATH", "/opt/other"}};

  CHECK(what(one, "D06").kind == "rpath");
}

TEST_CASE("a libcuda of a compatibility package is a warning") {
  Case one = healthy_case();
  one.surveys[0].process.libraries[0].path = "/usr/local/cuda/compat/libcuda.so.580.95.05";

  CHECK(worst(one, "D06") == CheckStatus::warn);
}

TEST_CASE("PyTorch is judged against driver and GPUs, if it was asked for") {
  Case one = healthy_case();
  CHECK(found(one, "D26").empty());

  PythonTorch torch;
  torch.interpreter = "python3";
  torch.python = "3.12.1";
  torch.torch = "2.7.0+cu128";
  torch.path = "/venv/torch/__init__.py";
  torch.cuda = "12.8";
  torch.architectures = {"sm_80", "sm_90", "compute_90"};
  torch.nccl = "2.28.3";
  one.torch = {torch};
  CHECK(worst(one, "D26") == CheckStatus::ok);

  one.torch[0].architectures = {"sm_70", "sm_80"};
  CHECK(worst(one, "D26") == CheckStatus::fail);
  CHECK(what(one, "D26").kind == "no_code");
  CHECK(value(what(one, "D26"), "who") == "PyTorch 2.7.0+cu128");
  CHECK(value(what(one, "D26"), "capability") == "9.0");

  one.torch[0].architectures.clear(); // then our table of wheels is asked
  CHECK(worst(one, "D26") == CheckStatus::ok);

  one.torch[0].nccl = "2.26.2";
  CHECK(worst(one, "D26") == CheckStatus::info);

  one.torch[0].cuda = "14.9";
  CHECK(worst(one, "D26") == CheckStatus::unknown);

  one.torch[0].cuda.clear();
  CHECK(what(one, "D26").kind == "torch_without_cuda");
  CHECK(worst(one, "D26") == CheckStatus::fail);

  one.torch[0].problem = "No module named 'torch'";
  CHECK(found(one, "D26").front().evidence.front() == "No module named 'torch'");

  set_version(one, "cuda_driver", "520.61.05 (CUDA 11.8)");
  one.torch = {torch};
  CHECK(what(one, "D26").kind == "driver_support");
  CHECK(value(what(one, "D26"), "runtime") == "PyTorch's CUDA runtime");
  CHECK(value(what(one, "D26"), "verdict") == "insufficient");

  auto again = read_case(write_case(one));
  REQUIRE(again);
  CHECK(*again == one);
}

TEST_CASE("PyTorch of an Arm host is held against the wheels for Arm") {
  Case one = healthy_case();
  for (model::Survey& survey : one.surveys)
    for (model::CudaDevice& gpu : survey.inventory.gpus)
      gpu.name = "NVIDIA GH200 480GB";
  PythonTorch torch;
  torch.torch = "2.5.1+cu124";
  torch.cuda = "12.4";
  torch.architectures = {"sm_80", "sm_100"};
  one.torch = {torch};
  CHECK_THAT(value(what(one, "D26"), "remedy"), ContainsSubstring("2.6+cu126"));

  one.torch[0].torch = "2.8.0+cu128"; // Arm has no such wheel: its code is unknown
  one.torch[0].architectures.clear();
  CHECK(what(one, "D26").kind == "code_unknown");
}

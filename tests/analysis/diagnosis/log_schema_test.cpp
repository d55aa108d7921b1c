// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// What programs may rely on in the JSON of `doctor --log`: docs/schemas.
#include "diagnosed.h"

#include "analysis/report_value/report_value.h"
#include "knowledge/log_causes.h"
#include "support/catch.h"
#include "support/golden.h"
#include "support/json_schema.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;

TEST_CASE("the JSON of logs has the fields and types of its schema") {
  support::JsonSchema schema;
  schema.add_names("severity", Severity{});
  schema.add_names("severity", knowledge::CauseSeverity{});
  for (std::string_view log :
       {"", "step 1\n", "n1:5:5 [0] NCCL WARN the flux compensator tripped\n",
        "[rank3]: CUDA out of memory\n",
        "[rank1]: DistBackendError: NCCL error in: NCCLUtils.hpp:268\n",
        "2026-01-02 03:04:05 [rank1]: Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=7, OpType=ALLREDUCE)\n",
        "[100.5] NVRM: Xid (PCI:0000:0a:00): 31, pid=13332, name=worker, MMU Fault\n"
        "[142.5] NVRM: Xid (PCI:0000:0a:00): 109, pid=13332, errorString CTX SWITCH TIMEOUT\n",
        "n1:5:5 [2] NCCL WARN Error: failed to extend /dev/shm/nccl-8bGk2n to 3 bytes, error: "
        "No space left on device (28)\n[rank2]: DistBackendError: NCCL error in: "
        "NCCLUtils.hpp:268\n"})
    schema.add(test_diagnosis::Diagnosed(log).json());

  support::check_document("docs/schemas/log_diagnosis.json",
                          schema.text("ncclprobe doctor --log FILE --format json"));
}

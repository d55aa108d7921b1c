// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/contract.h"
#include "host/host_backend.h"

ncclprobe::contract::ContractSubject ncclprobe::contract::contract_subject() {
  return {"host", host::make_backend, 4, ""};
}

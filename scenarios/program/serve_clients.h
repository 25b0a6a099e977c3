// SPDX-License-Identifier: Apache-2.0
// `orrery serve --real --listen`: an endpoint of OpenAI's API before the instances.
#pragma once

#include "engine/result.h"
#include "scenarios/program/serve.h"
#include "scenarios/studies/serve/real_serving.h"

namespace orrery {

// Until a signal comes, or the model can no longer be computed.
Result<void> serve_clients(const ServeArguments& arguments,
                           const Scenario& scenario,
                           const RealInstances& instances);

}  // namespace orrery

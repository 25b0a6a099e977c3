// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/network/network_rates.h"

#include "engine/base/check.h"
#include "network/fluid/fluid.h"
#include "network/fluid/uncontended.h"
#include "network/simgrid/simgrid.h"

namespace orrery {

Result<void> check_fidelity(NetworkFidelity fidelity) {
    if (fidelity != NetworkFidelity::simgrid) {
        return {};
    }
    return check_simgrid().map_error([](const Error& why) {
        return Error{
            .where = {},
            .what = "network: simgrid, but SimGrid can't be loaded (" + why.what + ")",
            .hint =
                "install the package orrery-simgrid, build where libsimgrid-dev (3.32) is, or "
                "take fluid"};
    });
}

std::unique_ptr<SharedRates> make_rates(NetworkFidelity fidelity, std::span<const LinkInfo> links) {
    switch (fidelity) {
        case NetworkFidelity::analytic:
            return std::make_unique<UncontendedRates>(links);
        case NetworkFidelity::simgrid:
            return make_simgrid_rates(links);
        default:
            ORRERY_CHECK(fidelity == NetworkFidelity::fluid);
            return std::make_unique<FluidRates>(links);
    }
}

}  // namespace orrery

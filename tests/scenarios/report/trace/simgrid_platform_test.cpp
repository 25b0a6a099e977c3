// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/trace/simgrid_platform.h"

#include <gtest/gtest.h>

#include <map>
#include <pugixml.hpp>
#include <sstream>

#include "tests/scenarios/small_scenarios.h"

namespace orrery {
namespace {

TEST(SimgridPlatform, HasTheFabricsLinksAndRoutes) {
    const Scenario scenario = small_scenario("s", {});
    const auto fabric = build_fabric(scenario.cluster);
    ASSERT_TRUE(fabric);
    std::ostringstream out;
    ASSERT_TRUE(write_simgrid_platform(out, *fabric));
    pugi::xml_document document;
    ASSERT_TRUE(document.load_string(out.str().c_str())) << out.str().substr(0, 500);
    const pugi::xml_node zone = document.child("platform").child("zone");
    std::map<std::string, std::string> bandwidths;
    for (const pugi::xml_node link : zone.children("link")) {
        EXPECT_TRUE(
            bandwidths.emplace(link.attribute("id").value(), link.attribute("bandwidth").value())
                .second);
    }
    EXPECT_EQ(bandwidths.size(), fabric->links().size());
    std::size_t routes = 0;
    for (const pugi::xml_node route : zone.children("route")) {
        ++routes;
        EXPECT_TRUE(route.child("link_ctn"));
        for (const pugi::xml_node link : route.children("link_ctn")) {
            EXPECT_TRUE(bandwidths.contains(link.attribute("id").value()));
        }
    }
    EXPECT_EQ(routes, 8u * 7u);
}

TEST(SimgridPlatform, TooManyGpusAreAnError) {
    const auto fabric = build_fabric(
        small_scenario("s", {"cluster.nodes=512", "plan.global_batch_size=4096"}).cluster);
    ASSERT_TRUE(fabric) << fabric.error().to_string();
    std::ostringstream out;
    EXPECT_FALSE(write_simgrid_platform(out, *fabric));
}

}  // namespace
}  // namespace orrery

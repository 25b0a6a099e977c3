// SPDX-License-Identifier: Apache-2.0
// Golden values of checkpoint intervals (the reference cases V1 and V2; seconds): closed forms have
// to give them, and campaigns have to find them.
#pragma once

#include <array>

namespace orrery {

struct GoldenSegment {
    double mtbf, checkpoint, restart, interval, time;
};
inline constexpr std::array kGoldenSegments{GoldenSegment{11134.8, 20, 300, 660, 720.3417},
                                            GoldenSegment{1080, 10, 600, 150, 300.5812},
                                            GoldenSegment{6480, 60, 300, 880, 1059.5332}};

struct GoldenOptimum {
    double mtbf, checkpoint, young, daly, exact, restart, efficiency;
};
inline constexpr std::array kGoldenOptima{
    GoldenOptimum{11134.8, 20, 667.38, 654.110, 654.111, 300, 0.916234},
    GoldenOptimum{11134.8, 60, 1155.93, 1116.277, 1116.282, 600, 0.852548},
    GoldenOptimum{6480, 60, 881.82, 842.270, 842.278, 300, 0.830658},
    GoldenOptimum{1080, 10, 146.97, 140.378, 140.380, 600, 0.499176},
    GoldenOptimum{1080, 60, 360.00, 321.111, 321.161, 600, 0.403135},
    GoldenOptimum{28440, 120, 2612.58, 2533.197, 2533.205, 900, 0.882553},
    GoldenOptimum{86400, 300, 7200.00, 7001.389, 7001.404, 600, 0.912606}};

}  // namespace orrery

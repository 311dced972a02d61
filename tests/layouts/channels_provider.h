/* channels_provider.h - a provider for tests whose convolutions want the channels last. */
#ifndef TORT_TESTS_LAYOUTS_CHANNELS_PROVIDER_H
#define TORT_TESTS_LAYOUTS_CHANNELS_PROVIDER_H

#include "runtime/include/provider.h"

extern const tort_provider channels_provider;

#endif

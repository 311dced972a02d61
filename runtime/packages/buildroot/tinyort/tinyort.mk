################################################################################
#
# tinyort
#
################################################################################

TINYORT_VERSION = 0.1.0
# The tree that this file lies in.
TINYORT_SITE = $(BR2_EXTERNAL_TINYORT_PATH)/../../..
TINYORT_SITE_METHOD = local
TINYORT_OVERRIDE_SRCDIR_RSYNC_EXCLUSIONS = --exclude /build
TINYORT_LICENSE = MIT
TINYORT_LICENSE_FILES = LICENSE
TINYORT_INSTALL_STAGING = YES
TINYORT_DEPENDENCIES = host-protobuf-c cjson protobuf-c zlib

ifeq ($(BR2_PACKAGE_TINYORT_PICTURES),y)
TINYORT_DEPENDENCIES += jpeg libpng openjpeg tiff webp
endif

# Its Makefile chooses the level of optimization of each file.
TINYORT_MAKE_OPTS = \
	$(TARGET_CONFIGURE_OPTS) \
	CFLAGS="$(filter-out -O%,$(TARGET_CFLAGS))" \
	PICTURES=$(if $(BR2_PACKAGE_TINYORT_PICTURES),1,0) \
	REGEX=0 \
	CUDA=0 \
	CCACHE= \
	PREFIX=/usr

define TINYORT_BUILD_CMDS
	$(TARGET_MAKE_ENV) $(MAKE) $(TINYORT_MAKE_OPTS) -C $(@D)
endef

define TINYORT_INSTALL_STAGING_CMDS
	$(TARGET_MAKE_ENV) $(MAKE) $(TINYORT_MAKE_OPTS) -C $(@D) DESTDIR=$(STAGING_DIR) install
endef

define TINYORT_INSTALL_TARGET_CMDS
	$(TARGET_MAKE_ENV) $(MAKE) $(TINYORT_MAKE_OPTS) -C $(@D) DESTDIR=$(TARGET_DIR) install
endef

$(eval $(generic-package))

# Stands in for Buildroot: what tinyort.mk takes from it, for a toolchain of Debian's. The extracted tree is $(@D) in a recipe, as there.
# Usage: make -f buildroot.mk SCRATCH=DIR PACKAGE=DIR
STAGING_DIR := $(SCRATCH)/staging
TARGET_DIR := $(SCRATCH)/target
BR2_EXTERNAL_TINYORT_PATH := $(PACKAGE)
TARGET_CC := $(CCACHE) aarch64-linux-gnu-gcc -isystem $(STAGING_DIR)/usr/include -L$(STAGING_DIR)/usr/lib
TARGET_CFLAGS := -D_FILE_OFFSET_BITS=64 -Os -g0
TARGET_MAKE_ENV := PATH="$(PATH)"
TARGET_CONFIGURE_OPTS := CC="$(TARGET_CC)" AR=aarch64-linux-gnu-ar LD=aarch64-linux-gnu-ld OBJCOPY=aarch64-linux-gnu-objcopy CFLAGS="$(TARGET_CFLAGS)" LDFLAGS=

# A package is evaluated for its variables; the steps follow.
generic-package :=
include $(PACKAGE)/tinyort/tinyort.mk

$(SCRATCH)/tinyort/.stamp: FORCE
	rm -rf $(@D) $(TARGET_DIR) && mkdir -p $(@D) $(TARGET_DIR)
	tar -C $(TINYORT_SITE) $(TINYORT_OVERRIDE_SRCDIR_RSYNC_EXCLUSIONS:/%=./%) --exclude-vcs -cf - . | tar -C $(@D) -xf -
	$(TINYORT_BUILD_CMDS)
	$(TINYORT_INSTALL_STAGING_CMDS)
	$(TINYORT_INSTALL_TARGET_CMDS)
FORCE:

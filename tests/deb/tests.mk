# The Debian package, in a fresh root of the Debian that it is for.
THOROUGH_TESTS += test-deb

.PHONY: test-deb
## Install the Debian package in a fresh root, run a model, compile a program, and remove it again.
test-deb: deb
	@.ci/setup.sh systems || echo "no debootstrap: the package is built, but not installed"
	@sh tests/deb/test.sh $(DEB) $(BUILD)/deb_root $(VERSION)

include $(sort $(wildcard $(BR2_EXTERNAL_TINYORT_PATH)/*/*.mk))

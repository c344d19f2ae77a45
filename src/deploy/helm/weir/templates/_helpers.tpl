{{- define "weir.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "weir.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "weir.instances" -}}
{{ include "weir.selector" . }}
app.kubernetes.io/component: enforcer
{{- end -}}

{{- define "weir.labels" -}}
{{ include "weir.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "weir.headless" -}}
{{ include "weir.fullname" . }}-headless
{{- end -}}

{{- define "weir.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "weir.tokens" -}}
{{- $own := or .Values.tokens.token .Values.tokens.readToken .Values.tokens.decideToken -}}
{{- if and $own .Values.tokens.existingSecret -}}
{{- fail "set tokens.existingSecret or tokens in the values, not both" -}}
{{- end -}}
{{- .Values.tokens.existingSecret | default (printf "%s-tokens" (include "weir.fullname" .)) -}}
{{- end -}}

{{- define "weir.scheme" -}}
{{- dig "service" "tls" "" .Values.config | empty | ternary "http" "https" -}}
{{- end -}}

{{- /* The configuration of all instances: POD_NAME is a variable of each pod. */ -}}
{{- define "weir.config" -}}
{{- $address := printf "${env:POD_NAME}.%s.%s.svc:8680" (include "weir.headless" .) .Release.Namespace -}}
{{- $service := dict "host" "0.0.0.0" "port" 8680 "health-port" 8679 "advertise" $address -}}
{{- $kafka := dict "bootstrap.servers" (required "set kafka.bootstrapServers" .Values.kafka.bootstrapServers) -}}
{{- /* Static membership: unique in the cluster, and the same after a restart. */ -}}
{{- $membership := dict "group.instance.id" (printf "${env:POD_NAME}.%s" .Release.Namespace) -}}
{{- $config := dict "service" $service "kafka" (merge $kafka .Values.kafka.properties $membership) -}}
{{- merge $config .Values.config | toYaml -}}
{{- end -}}

{{- define "weir.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "weir.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "weir.env" -}}
- name: POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
{{- range $variable, $key := dict "WEIR_TOKEN" "token" "WEIR_READ_TOKEN" "read-token" "WEIR_DECIDE_TOKEN" "decide-token" }}
- name: {{ $variable }}
  valueFrom:
    secretKeyRef:
      name: {{ include "weir.tokens" $ }}
      key: {{ $key }}
      optional: true
{{- end }}
{{- with .Values.javaOptions }}
- name: WEIR_JAVA_OPTS
  value: {{ . | quote }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "weir.mounts" -}}
- name: config
  mountPath: /etc/weir
  readOnly: true
- name: state
  mountPath: /var/lib/weir
- name: tmp
  mountPath: /tmp
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- /* RocksDB and the codecs of Kafka's clients unpack native libraries to /tmp. */ -}}
{{- define "weir.volumes" -}}
- name: config
  configMap:
    name: {{ include "weir.fullname" . }}
- name: tmp
  emptyDir:
    sizeLimit: 256Mi
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}
